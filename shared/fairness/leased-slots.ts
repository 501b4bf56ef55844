import type { Redis } from '../redis/connect.ts';
import { LUA_NOW } from '../redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '../redis/script.ts';

/** Longer than the write of a document may take, until it is in the view or has certainly
 * failed. */
const LEASE_MS = 30_000;

/**
 * KEYS: the set. ARGV: member, maximum member count. A score is the
 * time at which the member's lease ends. A member that is in the set already succeeds, so a retry
 * takes no second slot.
 */
const TAKE = `${REQUIRE_VIEW}${LUA_NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 1 end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ${LEASE_MS}, ARGV[1])
return 1
`;

/** Keys of the sets that an account's tier limits: its apps and its marketplace keys. */
export const ownedAppsKey = (accountId: string): string => `places:apps:${accountId}`;
/** Those of its apps whose scope is approved: they add to the bytes of its day. */
export const APPROVED_APPS = 'approved-apps:';
/** The apps of others that an account is a member of. */
export const memberAppsKey = (accountId: string): string => `member-apps:${accountId}`;
export const marketplaceKeysKey = (accountId: string): string => `places:marketplace-keys:${accountId}`;

export function makeLeasedSlots(redis: Redis) {
  const take = makeScript<number>(redis, TAKE);
  return {
    /** Leases a slot for `member` for 30 s; false if `countMax` other members hold one. */
    take: async (set: string, member: string, countMax: number): Promise<boolean> =>
      (await take([set], [member, countMax])) === 1,
  };
}

/**
 * Limits on how many documents of a kind may exist, exact under any concurrency. Each limit is a
 * set of ids, not a counter, so nothing is counted twice and a crash leaks nothing: a creation
 * first leases a slot, then the write of the document to the view makes the slot permanent
 * (`setsOf`). A replay restores the set.
 */
export type LeasedSlots = ReturnType<typeof makeLeasedSlots>;
