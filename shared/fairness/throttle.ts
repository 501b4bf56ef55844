import { hash } from 'node:crypto';
import { ServiceError } from '#shared/errors.ts';
import type { Redis } from '../redis/connect.ts';
import { makeScript } from '../redis/script.ts';

/**
 * KEYS: counters, then optionally the mark of a charge id. ARGV: per counter its maximum, its
 * window in ms and its increment. Nothing is counted if a counter is full, or if the same charge id
 * was counted already.
 */
const TAKE = `
local counters = #ARGV / 3
local mark = KEYS[counters + 1]
if mark and redis.call('EXISTS', mark) == 1 then return 0 end
for i = 1, counters do
  local key = KEYS[i]
  if tonumber(redis.call('GET', key) or '0') + tonumber(ARGV[3 * i]) > tonumber(ARGV[3 * i - 2]) then
    return math.max(1, redis.call('PTTL', key))
  end
end
for i = 1, counters do
  redis.call('INCRBY', KEYS[i], ARGV[3 * i])
  if redis.call('PTTL', KEYS[i]) < 0 then redis.call('PEXPIRE', KEYS[i], ARGV[3 * i - 1]) end
end
if mark then redis.call('SET', mark, '1', 'PX', ARGV[2]) end
return 0
`;

/** `refundTo(counter, count)` takes a charge back, at most what the counter has: one that has ended
 * meanwhile stays away. Nothing if `counter` is ''. */
export const LUA_REFUND = `
local function refundTo(counter, count)
  if counter == '' then return end
  count = math.min(count, tonumber(redis.call('GET', counter) or '0'))
  if count > 0 then redis.call('DECRBY', counter, count) end
end
`;

/** KEYS: counters. ARGV: for each its decrement. */
const REFUND = `${LUA_REFUND}
for i, key in ipairs(KEYS) do refundTo(key, tonumber(ARGV[i])) end
return 1
`;

/** At most `countMax` in a window, which begins with the first counted attempt. */
export type Budget = { readonly name: string; readonly countMax: number; readonly windowMs: number };

/** One attempt counted against the budget of `owner`: an address, an account or a client app. */
export type Draw = {
  readonly budget: Budget;
  readonly owner: string;
  /** Attempts that it counts for. Default 1. */
  readonly count?: number;
};

/** Counts attempts in Redis, for all processes together. */
export function makeThrottle(redis: Redis) {
  const take = makeScript<number>(redis, TAKE);
  const refund = makeScript<number>(redis, REFUND);
  return {
    /**
     * @param chargeId a repetition with the same id within the first budget's window is not counted
     *   again
     * @throws ServiceError `rate-limited`, with the time to wait, if a budget is exhausted; then no
     *   budget is charged
     */
    async take(draws: readonly Draw[], chargeId?: string): Promise<void> {
      const limits = draws.flatMap(({ budget, count = 1 }) => [budget.countMax, budget.windowMs, count]);
      const waitMs = await take(
        [...draws.map(keyOf), ...(chargeId === undefined ? [] : [markOf(chargeId)])],
        limits,
      );
      if (waitMs > 0)
        throw new ServiceError('rate-limited', 'too many attempts; try again later', {
          retryAfterMs: waitMs,
        });
    },
    /** Refunds attempts that turned out not to count. */
    async refund(draws: readonly Draw[]): Promise<void> {
      await refund(
        draws.map(keyOf),
        draws.map(({ count = 1 }) => count),
      );
    },
  };
}

export type Throttle = ReturnType<typeof makeThrottle>;

/** Counts attempts if no budget is exhausted; false, and nothing is counted, if one is. */
export const isWithinBudgets = (throttle: Pick<Throttle, 'take'>, draws: readonly Draw[]): Promise<boolean> =>
  throttle.take(draws).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ServiceError && error.code === 'rate-limited') return false;
      throw error;
    },
  );

/** Keys are digests, so Redis holds no e-mail address that people typed. */
const keyOf = ({ budget, owner }: Draw): string => `throttle:${budget.name}:${digest(owner)}`;
const markOf = (chargeId: string): string => `throttle-drawn:${digest(chargeId)}`;
const digest = (text: string): string => hash('sha256', text, 'hex').slice(0, 32);
