import { partitionOfMember } from '#shared/contracts/watches/watch.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW } from '#shared/redis/view.ts';
import { docsKey } from './watch-member-pages.ts';
import { nameOf } from './watch-member-text.ts';

/** The tombstones of removed members, by when each was written. */
export const REMOVED_KEY = 'wm-removed';
/** How long a tombstone is kept: longer than a record may be on its way. */
export const TOMBSTONE_MS = 3_600_000;

/**
 * KEYS: marker, members of the partition, tombstones. ARGV: access, member id, name, time up to which tombstones are dropped.
 * A member that was added again meanwhile has no tombstone, and stays.
 */
const DROP_REMOVED = `${REQUIRE_VIEW}
local removedAt = redis.call('ZSCORE', KEYS[3], ARGV[3])
if not removedAt or tonumber(removedAt) > tonumber(ARGV[4]) then return 0 end
redis.call('HDEL', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[3])
return 1
`;

/** The members that were removed from their watches. */
export type RemovedMembers = {
  /** Takes tombstones out of the view whose time has come; how many were looked at. */
  readonly dropRemoved: (nowMs: number, countMax: number) => Promise<number>;
};

export function makeRemovedMembers(redis: Redis): RemovedMembers {
  const drop = makeBatchedScript<number>(redis, DROP_REMOVED);
  return {
    async dropRemoved(nowMs, countMax) {
      const untilMs = nowMs - TOMBSTONE_MS;
      const names = await inStore(() =>
        redis.zrangebyscore(REMOVED_KEY, '-inf', untilMs, 'LIMIT', 0, countMax),
      );
      await Promise.all(
        names.map((name) => {
          const { uid, memberId } = nameOf(name);
          const keys = [GENERATION_KEY, docsKey(uid, partitionOfMember(uid, memberId)), REMOVED_KEY];
          return drop(keys, [ORDINARY_ACCESS, memberId, name, untilMs]);
        }),
      );
      return names.length;
    },
  };
}
