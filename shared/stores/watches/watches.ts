import { partitionOfWatch, Watch, watchKey, watchOfUid, watchUid } from '#shared/contracts/watches/watch.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import {
  type EraseRecord,
  liveOf,
  makeVersionedDocuments,
  type OwnedPage,
  type SetEntry,
} from '../documents/versioned-documents.ts';
import { ruleSetUsersKey } from '../rules/rule-sets.ts';

/** Announces a changed watch; the message is `<client id>/<watch id>`. */
const WATCH_CHANGED = 'watch:changed';
const WATCHES_KEY = 'watches';
/** How long a tombstone is kept; its members are removed meanwhile. */
const TOMBSTONE_MS = 86_400_000;

const idsKey = (clientId: string): string => `watches:of:${clientId}`;
/** The set of slots that limits the watches of an app; see `leased-slots.ts`. */
export const watchSlotsKey = (clientId: string): string => `places:watches:${clientId}`;
/** The watches whose sweeps the owner of a partition starts and ends, by due time. Every change of
 * a document makes its watch due. */
const dueKey = (partition: number): string => `watches:due:${partition}`;
/** The due time of a watch: the sorted set and its member there. */
export const dueTimeOf = (uid: string): { readonly key: string; readonly member: string } => ({
  key: dueKey(partitionOfWatch(uid)),
  member: watchKey(watchOfUid(uid)),
});

/** KEYS: documents, due times. ARGV: now, due time from now on, maximum count. */
const CLAIM = `${REQUIRE_VIEW}
local found = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])) do
  local stored = redis.call('HGET', KEYS[1], id)
  if stored then
    found[#found + 1] = stored
    redis.call('ZADD', KEYS[2], ARGV[2], id)
  else redis.call('ZREM', KEYS[2], id) end
end
return found
`;

const SET_ALL_DUE = `${REQUIRE_VIEW}
for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do redis.call('ZADD', KEYS[1], 'LT', ARGV[1], id) end
return 1
`;

export function makeWatches(redis: Redis) {
  const claim = makeScript<string[]>(redis, CLAIM);
  const setAllDue = makeScript<number>(redis, SET_ALL_DUE);
  const { read, lease, project, eraseEnded, listSet, listOwned, pagesOwned, scan, open } =
    makeVersionedDocuments(redis, {
      key: WATCHES_KEY,
      parse: (json) => Watch.parse(json),
      idOf: watchKey,
      setsOf,
      tombstoneMs: TOMBSTONE_MS,
      channel: WATCH_CHANGED,
    });
  const readLive = async (clientId: string, watchId: string): Promise<Watch | undefined> =>
    liveOf(await read(watchKey({ clientId, watchId })));
  return {
    /** Nothing where it was deleted. */
    read: readLive,
    /** The watch that a uid names; undefined if it was deleted, though there may be a new one with
     * its id. */
    async readByUid(uid: string): Promise<Watch | undefined> {
      const { clientId, watchId } = watchOfUid(uid);
      const watch = await readLive(clientId, watchId);
      return watch && watchUid(watch) === uid ? watch : undefined;
    },
    /** For writers: by `watchKey`, tombstones included. */
    documents: { read, lease, project },
    project,
    scan,
    /** A page of an app's watches, by id; `next` is the last one, if there are more. */
    async list(clientId: string, page: Pick<OwnedPage, 'after' | 'countMax'>) {
      const whole = { ...page, bytesMax: Number.MAX_SAFE_INTEGER };
      const { documents: watches, next } = await listOwned(idsKey(clientId), clientId, whole);
      return { watches, next };
    },
    pagesOf: (clientId: string) => pagesOwned(idsKey(clientId), clientId),
    /** The watches whose sweeps belong to a partition, tombstones included. */
    inPartition: (partition: number): Promise<Watch[]> => listSet(dueKey(partition), (watch) => watch),
    /** The watches of a partition that are due, tombstones included; they are due again at
     * `againAtMs` at the latest. */
    async claimDue(partition: number, nowMs: number, againAtMs: number, countMax: number): Promise<Watch[]> {
      const keys = [WATCHES_KEY, dueKey(partition)];
      return (await claim(keys, [nowMs, againAtMs, countMax])).map(open);
    },
    /** Makes a watch due then, unless it is due earlier. */
    setDue: (uid: string, atMs: number): Promise<void> => setDueTime(redis, uid, atMs),
    /** Postpones the due time of a watch; a later due time stays. */
    postpone: (uid: string, atMs: number): Promise<void> => setDueTime(redis, uid, atMs, 'GT'),
    /** The same as `setDue` for every watch of an app with this rule set. */
    async setUsersDue(clientId: string, ruleSet: string, atMs: number): Promise<void> {
      const ids = await inStore(() =>
        redis.zrangebyscore(ruleSetUsersKey(clientId, ruleSet), '+inf', '+inf'),
      );
      await Promise.all(ids.map((watchId) => setDueTime(redis, watchKey({ clientId, watchId }), atMs)));
    },
    async setAllDue(partition: number, atMs: number): Promise<void> {
      await setAllDue([dueKey(partition)], [atMs]);
    },
    /**
     * Erases tombstones whose time has come, from view and topic; how many were looked at.
     *
     * @param forget removes what else there is of a watch; false if its members are not removed yet
     */
    eraseEnded: (
      nowMs: number,
      countMax: number,
      forget: (watch: Watch) => Promise<boolean>,
      eraseRecord: EraseRecord,
    ): Promise<number> =>
      eraseEnded(nowMs, countMax, eraseRecord, async (key) => {
        const watch = await read(key);
        return watch?.deletedAt === undefined || forget(watch);
      }),
  };
}

export type Watches = ReturnType<typeof makeWatches>;

/** Makes a watch due then, unless it is due earlier (`LT`), or unless it is due later (`GT`). */
export const setDueTime = (
  redis: Redis,
  uid: string,
  atMs: number,
  condition: 'LT' | 'GT' = 'LT',
): Promise<void> =>
  inStore(async () => {
    const { key, member } = dueTimeOf(uid);
    await redis.call('ZADD', key, condition, atMs, member);
  });

function setsOf(watch: Watch): SetEntry[] {
  const { clientId, watchId, ruleSet, deletedAt } = watch;
  const due = { set: dueKey(partitionOfWatch(watchUid(watch))), member: watchKey(watch), untilMs: 0 };
  if (deletedAt !== undefined) return [due];
  return [
    due,
    { set: idsKey(clientId), member: watchId, untilMs: 0 },
    { set: watchSlotsKey(clientId), member: watchId, untilMs: Infinity },
    { set: ruleSetUsersKey(clientId, ruleSet), member: watchId, untilMs: Infinity },
  ];
}
