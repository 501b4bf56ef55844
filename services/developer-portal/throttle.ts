import { createHash } from 'node:crypto';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { Problem } from './problem.ts';

/**
 * KEYS: counters, then perhaps the mark of what is drawn for. ARGV: for each counter its maximum and its window in ms.
 * Nothing is counted where one is full, or where it was drawn for the same already.
 */
const TAKE = `
local counters = #ARGV / 2
local mark = KEYS[counters + 1]
if mark and redis.call('EXISTS', mark) == 1 then return 0 end
for i = 1, counters do
  local key = KEYS[i]
  if tonumber(redis.call('GET', key) or '0') >= tonumber(ARGV[2 * i - 1]) then
    return math.max(1, redis.call('PTTL', key))
  end
end
for i = 1, counters do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[2 * i]) end
end
if mark then redis.call('SET', mark, '1', 'PX', ARGV[2]) end
return 0
`;

/** KEYS: counters. */
const REFUND = `
for _, key in ipairs(KEYS) do
  if tonumber(redis.call('GET', key) or '0') > 0 then redis.call('DECR', key) end
end
return 1
`;

/** At most so many in a window, which begins with its first. */
export type Budget = { readonly name: string; readonly countMax: number; readonly windowMs: number };

/** Something counted: whose, and against which budget. */
export type Draw = { readonly budget: Budget; readonly whose: string };

export type Throttle = {
  /**
   * @param drawnFor what it is drawn for: who draws for the same again within the first window draws nothing
   * @throws Problem `rate-limited` with `Retry-After` where one of the budgets is used up; then none is drawn from
   */
  readonly take: (draws: readonly Draw[], drawnFor?: string) => Promise<void>;
  /** Gives back what turned out to be none of what is counted. */
  readonly refund: (draws: readonly Draw[]) => Promise<void>;
};

/**
 * Counts attempts in Redis, for all portals together.
 *
 * @example
 * await throttle.take([{ budget: SIGN_UPS, whose: address }]);
 */
export function makeThrottle(redis: Redis): Throttle {
  const take = makeScript<number>(redis, 'takeAttempt', TAKE);
  const refund = makeScript<number>(redis, 'refundAttempt', REFUND);
  return {
    async take(draws, drawnFor) {
      const limits = draws.flatMap(({ budget }) => [budget.countMax, budget.windowMs]);
      const waitMs = await take(
        [...draws.map(keyOf), ...(drawnFor === undefined ? [] : [markOf(drawnFor)])],
        limits,
      );
      if (waitMs > 0)
        throw new Problem('rate-limited', 'Too many attempts; try again later.', {
          headers: retryAfter(waitMs),
        });
    },
    async refund(draws) {
      await refund(draws.map(keyOf), []);
    },
  };
}

/** What people type is not kept, not even here. */
const keyOf = ({ budget, whose }: Draw): string => `throttle:${budget.name}:${digest(whose)}`;
const markOf = (drawnFor: string): string => `throttle-drawn:${digest(drawnFor)}`;
const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
