import { MEMBER_PARTITIONS, partitionOfWatch, Watch, watchKey, watchUid } from '#shared/contracts/watch.ts';
import { inStore, type Redis } from './connect.ts';
import { ruleSetUsersKey } from './rule-sets.ts';
import { makeScript } from './script.ts';
import { makeVersionedDocuments, type SetEntry, type VersionedDocuments } from './versioned-documents.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/** Announces a changed watch; the message is `<client id>/<watch id>`. */
export const WATCH_CHANGED = 'watch:changed';
const WATCHES_KEY = 'watches:1';
/** Tombstones by when they may be dropped. */
const ENDED_KEY = `${WATCHES_KEY}:ended`;
/** How long a tombstone is kept; its members are removed meanwhile. */
const TOMBSTONE_MS = 86_400_000;

const idsKey = (clientId: string): string => `watches:of:${clientId}`;
/** The set of slots that limits the watches of an app; see `leased-slots.ts`. */
export const watchSlotsKey = (clientId: string): string => `places:watches:${clientId}`;
/** The watches whose sweeps the owner of a partition starts and ends. */
const ofPartitionKey = (partition: number): string => `watches:in:${partition}`;

/** KEYS: marker, documents, ids. ARGV: access, client id, id to begin behind ('' for none), maximum count. */
const LIST = `${REQUIRE_VIEW}
local from = ARGV[3] == '' and '-' or '(' .. ARGV[3]
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYLEX', KEYS[3], from, '+', 'LIMIT', 0, ARGV[4])) do
  local stored = redis.call('HGET', KEYS[2], ARGV[2] .. '/' .. id)
  if stored then found[#found + 1] = stored end
end
return found
`;

/** The view of the watches. */
export type Watches = {
  /** Nothing where it was deleted. */
  readonly read: (clientId: string, watchId: string) => Promise<Watch | undefined>;
  /** For writers: by `watchKey`, tombstones included. */
  readonly documents: Pick<VersionedDocuments<Watch>, 'read' | 'lease' | 'project'>;
  readonly project: (watch: Watch, access?: ViewAccess) => Promise<boolean>;
  readonly list: (clientId: string, page: { after?: string; countMax: number }) => Promise<Watch[]>;
  /** The watches whose sweeps belong to a partition, tombstones included. */
  readonly inPartition: (partition: number) => Promise<Watch[]>;
  /** Takes tombstones out of the view whose time has come; how many they were. */
  readonly dropEnded: (nowMs: number, countMax: number) => Promise<number>;
};

/**
 * @example
 * const members = await makeWatches(redis).read('app_1', 'members');
 */
export function makeWatches(redis: Redis): Watches {
  const list = makeScript<string[]>(redis, 'listWatches', LIST);
  const { read, lease, project, remove, listSet } = makeVersionedDocuments(redis, {
    key: WATCHES_KEY,
    parse: (json) => Watch.parse(json),
    idOf: watchKey,
    indexOf: () => ({}),
    setsOf,
    channel: WATCH_CHANGED,
    startsAtClock: true,
  });
  return {
    async read(clientId, watchId) {
      const found = await read(watchKey({ clientId, watchId }));
      return found?.deletedAt === undefined ? found : undefined;
    },
    documents: { read, lease, project },
    project,
    async list(clientId, { after = '', countMax }) {
      const keys = [GENERATION_KEY, WATCHES_KEY, idsKey(clientId)];
      const stored = await list(keys, [EVERYDAY, clientId, after, countMax]);
      return stored.map((text) => Watch.parse(JSON.parse(text.slice(text.indexOf(' ') + 1))));
    },
    inPartition: (partition) => listSet(ofPartitionKey(partition)),
    async dropEnded(nowMs, countMax) {
      const keys = await inStore(() => redis.zrangebyscore(ENDED_KEY, '-inf', nowMs, 'LIMIT', 0, countMax));
      const sets = [ENDED_KEY, ...Array.from({ length: MEMBER_PARTITIONS }, (_, p) => ofPartitionKey(p))];
      for (const key of keys) await remove(key, sets);
      return keys.length;
    },
  };
}

function setsOf(watch: Watch): SetEntry[] {
  const { clientId, watchId, ruleSet, formerRuleSet, deletedAt } = watch;
  const key = watchKey(watch);
  const isLive = deletedAt === undefined;
  const partition = partitionOfWatch(watchUid(watch));
  return [
    { set: ENDED_KEY, member: key, untilMs: isLive ? undefined : Date.parse(deletedAt) + TOMBSTONE_MS },
    { set: idsKey(clientId), member: watchId, untilMs: isLive ? 0 : undefined },
    { set: watchSlotsKey(clientId), member: watchId, untilMs: isLive ? Infinity : undefined },
    ...(formerRuleSet === undefined || formerRuleSet === ruleSet
      ? []
      : [{ set: ruleSetUsersKey(clientId, formerRuleSet), member: watchId, untilMs: undefined }]),
    {
      set: ruleSetUsersKey(clientId, ruleSet),
      member: watchId,
      untilMs: isLive ? Infinity : undefined,
    },
    { set: ofPartitionKey(partition), member: key, untilMs: Infinity },
  ];
}
