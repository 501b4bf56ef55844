import type { Redis } from './connect.ts';
import { makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW } from './view.ts';

/** Longer than a write of a document may take: until it is in the view, or has surely failed. */
const LEASE_MS = 30_000;

/**
 * KEYS: marker, the set. ARGV: access, member, how many it may hold, lease in ms. Scores say until when a member
 * counts; a member that is in already is let in again, so a retry takes no second place.
 */
const TAKE = `${REQUIRE_VIEW}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZSCORE', KEYS[2], ARGV[2]) then return 1 end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[4]), ARGV[2])
return 1
`;

/** The apps of an account, and its marketplace keys: what its tier limits. */
export const ownedAppsKey = (accountId: string): string => `places:apps:${accountId}`;
export const marketplaceKeysKey = (accountId: string): string => `places:marketplace-keys:${accountId}`;

/**
 * Limits on how many of something there may be, exact under any concurrency. Each limit is a set of ids and not a
 * counter, so nothing is counted twice and a crash leaks nothing: whoever is about to make something takes a place
 * that is leased; the view's own write of the document then makes it last (`setsOf`), and a rebuild makes it again.
 */
export type Places = {
  /** Whether `member` has a place among at most `countMax`. */
  readonly take: (set: string, member: string, countMax: number) => Promise<boolean>;
};

/**
 * @example
 * if (!(await makePlaces(redis).take(ownedAppsKey('acc_1'), 'app_1', 5))) throw limitReached();
 */
export function makePlaces(redis: Redis): Places {
  const take = makeScript<number>(redis, 'takePlace', TAKE);
  return {
    take: async (set, member, countMax) =>
      (await take([GENERATION_KEY, set], [EVERYDAY, member, countMax, LEASE_MS])) === 1,
  };
}
