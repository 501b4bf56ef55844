import type { Redis } from '../redis/connect.ts';
import { LUA_NOW } from '../redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '../redis/script.ts';

/** Longer than the write of a document may take, until it is in the view or has certainly
 * failed. */
const LEASE_MS = 30_000;

/**
 * KEYS: the set. ARGV: member, maximum member count. A score is the
 * time at which the member's lease ends. A member that is in the set already succeeds, so a retry
 * takes no second slot; its lease is renewed, so that no other holder releases it.
 *
 * Answers the end of the lease, 0 without a slot, -1 where the slot is no lease.
 */
const TAKE = `${REQUIRE_VIEW}${LUA_NOW}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local endsAt = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0)
if endsAt > now + ${2 * LEASE_MS} then return -1 end
if endsAt == 0 and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
endsAt = math.max(now + ${LEASE_MS}, endsAt + 1)
redis.call('ZADD', KEYS[1], string.format('%.0f', endsAt), ARGV[1])
return endsAt
`;

/** KEYS: the set. ARGV: member, the end of its lease. */
const RELEASE = `${REQUIRE_VIEW}
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) ~= tonumber(ARGV[2]) then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
`;

/** `release` frees the slot at once, unless a document or a later lease holds it. */
export type LeasedSlot = { readonly release: () => Promise<unknown> };

/** Keys of the sets that an account's tier limits: its apps and its marketplace keys. */
export const ownedAppsKey = (accountId: string): string => `places:apps:${accountId}`;
/** Those of its apps whose scope is approved: they add to the bytes of its day. */
export const APPROVED_APPS = 'approved-apps:';
/** The apps of others that an account is a member of. */
export const memberAppsKey = (accountId: string): string => `member-apps:${accountId}`;
export const marketplaceKeysKey = (accountId: string): string => `places:marketplace-keys:${accountId}`;

export function makeLeasedSlots(redis: Redis) {
  const take = makeScript<number>(redis, TAKE);
  const release = makeScript<number>(redis, RELEASE);
  return {
    /** Leases a slot for `member` for 30 s; undefined if `countMax` other members hold one. */
    async take(set: string, member: string, countMax: number): Promise<LeasedSlot | undefined> {
      const endsAt = await take([set], [member, countMax]);
      return endsAt === 0 ? undefined : { release: () => release([set], [member, endsAt]) };
    },
  };
}

/**
 * Limits on how many documents of a kind may exist, exact under any concurrency. Each limit is a
 * set of ids, not a counter, so nothing is counted twice and a crash leaks nothing: a creation
 * first leases a slot, then the write of the document to the view makes the slot permanent
 * (`setsOf`). A replay restores the set.
 */
export type LeasedSlots = ReturnType<typeof makeLeasedSlots>;
