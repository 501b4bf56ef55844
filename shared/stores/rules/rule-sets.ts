import { randomUUID } from 'node:crypto';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeHolds } from '#shared/redis/holds.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import {
  liveOf,
  makeVersionedDocuments,
  type OwnedPage,
  type SetEntry,
} from '../documents/versioned-documents.ts';

/** Announces a changed rule set; the message is `<client id>/<id>`. */
export const RULE_SET_CHANGED = 'rule-set:changed';
const RULE_SETS_KEY = 'rule-sets:1';
/** How long a tombstone is kept: a rule set that is recreated meanwhile continues its version
 * count. */
const TOMBSTONE_MS = DAY_MS;

/** The ids of an app's rule sets, all with one score, so that Redis sorts them by id. */
const idsKey = (clientId: string): string => `rule-sets:of:${clientId}`;
/** The set of slots that limits the rule sets of an app; see `leased-slots.ts`. */
export const ruleSetSlotsKey = (clientId: string): string => `places:rule-sets:${clientId}`;

export function makeRuleSets(redis: Redis) {
  const { read, lease, project, listOwned, pagesOwned, eraseEnded } = makeVersionedDocuments(redis, {
    key: RULE_SETS_KEY,
    parse: (json) => RuleSet.parse(json),
    idOf: ({ clientId, id }) => ruleSetKey(clientId, id),
    setsOf,
    tombstoneMs: TOMBSTONE_MS,
    channel: RULE_SET_CHANGED,
  });
  return {
    ...makeRuleSetUsers(redis),
    /** Nothing where it was deleted. Returns `known` itself, without parsing, if that has not
     * changed. */
    read: async (clientId: string, id: string, known?: RuleSet): Promise<RuleSet | undefined> =>
      liveOf(await read(ruleSetKey(clientId, id), known)),
    /** For writers: by `ruleSetKey`, tombstones included. */
    documents: { read, lease, project },
    /** Puts a document in; false if the view has the same or a newer version. Announces the
     * change. */
    project,
    /** A page of an app's rule sets, by id; `next` is the last one, if there are more. */
    async list(clientId: string, page: OwnedPage) {
      const { documents: ruleSets, next } = await listOwned(idsKey(clientId), clientId, page);
      return { ruleSets, next };
    },
    pagesOf: (clientId: string) => pagesOwned(idsKey(clientId), clientId),
    /** Erases tombstones whose time has come, from view and topic; how many were looked at. */
    eraseEnded,
  };
}

export type RuleSets = ReturnType<typeof makeRuleSets>;

function setsOf({ clientId, id, deletedAt }: RuleSet): SetEntry[] {
  if (deletedAt !== undefined) return [];
  return [
    { set: idsKey(clientId), member: id, untilMs: 0 },
    { set: ruleSetSlotsKey(clientId), member: id, untilMs: Infinity },
  ];
}

/** Longer than the write of a document may take, until it is in the view or has certainly
 * failed. */
const HOLD_MS = 30_000;

/** The set of the watches that refer to a rule set: their documents put themselves there
 * (`setsOf`). It also has the writes that are about to, by when their holds end. */
export const ruleSetUsersKey = (clientId: string, id: string): string => `rule-set-users:${clientId}/${id}`;
const deletionKey = (clientId: string, id: string): string => `rule-set-deletion:${clientId}/${id}`;

/** KEYS: users, deletion. ARGV: holder. */
const HOLD = `${REQUIRE_VIEW}${LUA_NOW}
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + ${HOLD_MS}, ARGV[1])
return 1
`;

/**
 * KEYS: users, deletion. ARGV: holder. A score is the time at which the entry ends. Returns 0 while
 * a watch refers to the rule set, 2 while another deletion is under way: its mark must stay until
 * it ends.
 */
const BEGIN_DELETION = `${REQUIRE_VIEW}${LUA_NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
if not redis.call('SET', KEYS[2], ARGV[1], 'NX', 'PX', ${HOLD_MS}) then return 2 end
return 1
`;

/** Ends by itself after 30 s, or by `release`. */
export type RuleSetHold = { readonly release: () => Promise<void> };

/**
 * Keeps a rule set from being deleted while a watch refers to it. A watch and its rule set are two
 * documents: the write of a watch holds the rule set before it looks whether there is one, and a
 * deletion begins only if no write holds it.
 */
function makeRuleSetUsers(redis: Redis) {
  const hold = makeScript<number>(redis, HOLD);
  const beginDeletion = makeScript<number>(redis, BEGIN_DELETION);
  const deletions = makeHolds(redis);
  return {
    /** Holds a rule set for a watch that is about to refer to it; nothing while its deletion is under
     * way. */
    async hold(clientId: string, id: string): Promise<RuleSetHold | undefined> {
      const holder = randomUUID();
      const users = ruleSetUsersKey(clientId, id);
      if ((await hold([users, deletionKey(clientId, id)], [holder])) === 0) return undefined;
      return { release: () => inStore(async () => void (await redis.zrem(users, holder))) };
    },
    /** Begins the deletion of a rule set: `in-use` while a watch refers to it or is about to, nothing
     * while another deletion is under way. */
    async beginDeletion(clientId: string, id: string): Promise<RuleSetHold | 'in-use' | undefined> {
      const holder = randomUUID();
      const deletion = deletionKey(clientId, id);
      const outcome = await beginDeletion([ruleSetUsersKey(clientId, id), deletion], [holder]);
      if (outcome !== 1) return outcome === 0 ? 'in-use' : undefined;
      return { release: () => deletions.release(deletion, holder) };
    },
  };
}
