import type { RetryTier } from '#shared/contracts/webhooks/webhook.ts';
import { DEFERRAL_TIERS } from './schedule-retry.ts';

/** Messages of one receiver that come back from a tier per second, at most, the 30 min tier excepted:
 * the messages of other receivers wait behind them. */
const PER_SECOND_MAX = 800;

const [[short, shortMs], [middle, middleMs], [long, longMs]] = DEFERRAL_TIERS;

/**
 * Decides in which tier each message of one busy receiver waits for a slot: the first one that holds
 * no more than the receiver can take until the next tier comes back. So the receiver always has
 * work, and a message that has no chance of a slot yet costs a record in 5 or 30 min only.
 *
 * The messages of a tier are those that were deferred to it within its delay, because each of them
 * is deferred again, or attempted, once in that time.
 *
 * @param scale multiplies the delays, for tests. 1 in production
 *
 * @example
 * const backlog = makeBacklog(1);
 * backlog.defer(performance.now(), 125); // '5s' for the first 2 400 within 5 s, then '5m'
 */
export function makeBacklog(scale: number) {
  const bounded = [
    { tier: short, delayMs: shortMs, nextMs: middleMs, beganAtMs: Number.NEGATIVE_INFINITY, count: 0 },
    { tier: middle, delayMs: middleMs, nextMs: longMs, beganAtMs: Number.NEGATIVE_INFINITY, count: 0 },
  ];
  return {
    /**
     * Counts a message that is deferred now, and returns its tier.
     *
     * @param msPerMessage how often the receiver frees a slot
     */
    defer(nowMs: number, msPerMessage: number): RetryTier {
      for (const each of bounded) {
        if (nowMs - each.beganAtMs >= each.delayMs * scale) {
          each.beganAtMs = nowMs;
          each.count = 0;
        }
        const takenMax = (each.nextMs * scale) / msPerMessage;
        if (each.count >= Math.min(takenMax, (each.delayMs / 1_000) * PER_SECOND_MAX)) continue;
        each.count += 1;
        return each.tier;
      }
      return long;
    },
  };
}
