import { randomUUID } from 'node:crypto';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW } from '#shared/redis/view.ts';

/** Longer than the write of a document may take, until it is in the view or has certainly failed. */
const HOLD_MS = 30_000;

/** The set of the watches that refer to a rule set: their documents put themselves there (`setsOf`). */
export const ruleSetUsersKey = (clientId: string, id: string): string => `rule-set-users:${clientId}/${id}`;
/** The writes of watches that are about to refer to a rule set, by when their holds end. */
const holdsKey = (clientId: string, id: string): string => `rule-set-holds:${clientId}/${id}`;
/** The deletion of a rule set that is under way. */
const deletionKey = (clientId: string, id: string): string => `rule-set-deletion:${clientId}/${id}`;

/** KEYS: marker, holds, deletion. ARGV: access, holder. */
const HOLD = `${REQUIRE_VIEW}
if redis.call('EXISTS', KEYS[3]) == 1 then return 0 end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + ${HOLD_MS}, ARGV[2])
redis.call('PEXPIRE', KEYS[2], ${HOLD_MS})
return 1
`;

/**
 * KEYS: marker, users, holds, deletion. ARGV: access, holder. A score is the time at which the entry ends. Returns 0 while a
 * watch refers to the rule set, 2 while another deletion is under way: its mark must stay until it ends.
 */
const BEGIN_DELETION = `${REQUIRE_VIEW}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('ZCOUNT', KEYS[2], now, '+inf') + redis.call('ZCOUNT', KEYS[3], now, '+inf') > 0 then return 0 end
if not redis.call('SET', KEYS[4], ARGV[2], 'NX', 'PX', ${HOLD_MS}) then return 2 end
return 1
`;

/** KEYS: deletion. ARGV: holder. */
const END_DELETION = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`;

/** Ends by itself after 30 s, or by `release`. */
export type RuleSetHold = { readonly release: () => Promise<void> };

/**
 * Keeps a rule set from being deleted while a watch refers to it. A watch and its rule set are two documents: the write
 * of a watch holds the rule set before it looks whether there is one, and a deletion begins only if no write holds it.
 */
export type RuleSetUsers = {
  /** Holds a rule set for a watch that is about to refer to it; nothing while its deletion is under way. */
  readonly hold: (clientId: string, id: string) => Promise<RuleSetHold | undefined>;
  /** Begins the deletion of a rule set: `in-use` while a watch refers to it or is about to, nothing while another deletion is under way. */
  readonly beginDeletion: (clientId: string, id: string) => Promise<RuleSetHold | 'in-use' | undefined>;
};

export function makeRuleSetUsers(redis: Redis): RuleSetUsers {
  const hold = makeScript<number>(redis, HOLD);
  const beginDeletion = makeScript<number>(redis, BEGIN_DELETION);
  const endDeletion = makeScript<number>(redis, END_DELETION);
  return {
    async hold(clientId, id) {
      const holder = randomUUID();
      const [holds, deletion] = [holdsKey(clientId, id), deletionKey(clientId, id)];
      if ((await hold([GENERATION_KEY, holds, deletion], [ORDINARY_ACCESS, holder])) === 0) return undefined;
      return { release: () => inStore(async () => void (await redis.zrem(holds, holder))) };
    },
    async beginDeletion(clientId, id) {
      const holder = randomUUID();
      const deletion = deletionKey(clientId, id);
      const keys = [GENERATION_KEY, ruleSetUsersKey(clientId, id), holdsKey(clientId, id), deletion];
      const outcome = await beginDeletion(keys, [ORDINARY_ACCESS, holder]);
      if (outcome !== 1) return outcome === 0 ? 'in-use' : undefined;
      return { release: async () => void (await endDeletion([deletion], [holder])) };
    },
  };
}
