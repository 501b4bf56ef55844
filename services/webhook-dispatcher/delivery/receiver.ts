import type { AppOwner } from '#shared/fairness/fair-shares.ts';

/** A success counts as proof of health for this long. */
const PROOF_MS = 60_000;
/**
 * An attempt that takes this many times the mean counts as hanging. The threshold is low for quick
 * receivers, so that many that begin to hang at once do not fill all slots, and above the usual
 * pauses of this process.
 */
const STUCK_MEANS = 10;
const STUCK_MS_MIN = 250;
const STUCK_MS_MAX = 2_000;
/** Weight of the newest duration in the running mean. */
const NEWEST_WEIGHT = 0.2;

export type Receiver = ReturnType<typeof makeReceiver>;

/**
 * The state of one receiver: attempts in flight, recent durations, recent health.
 *
 * @example
 * const receiver = makeReceiver(app, 'https://example.com');
 * receiver.end(receiver.begin(0), true, 12);
 * receiver.expectedDurationMs(12); // 12
 */
export function makeReceiver(app: AppOwner, origin: string) {
  const begunAt = new Map<symbol, number>();
  let meanMs: number | undefined;
  let healthyAt = Number.NEGATIVE_INFINITY;

  const stuckMs = () => Math.min(Math.max((meanMs ?? 0) * STUCK_MEANS, STUCK_MS_MIN), STUCK_MS_MAX);
  const isStuck = (nowMs: number): boolean => {
    const [oldest] = begunAt.values();
    return oldest !== undefined && nowMs - oldest > stuckMs() && healthyAt < oldest;
  };

  return {
    app,
    origin,
    inFlightCount: () => begunAt.size,
    /** Begins an attempt; the handle ends it. */
    begin(nowMs: number): symbol {
      const attempt = Symbol('attempt');
      begunAt.set(attempt, nowMs);
      return attempt;
    },
    end(attempt: symbol, isHealthy: boolean | undefined, nowMs: number): void {
      const durationMs = nowMs - (begunAt.get(attempt) ?? nowMs);
      begunAt.delete(attempt);
      if (isHealthy === undefined) return;
      meanMs = meanMs === undefined ? durationMs : meanMs + NEWEST_WEIGHT * (durationMs - meanMs);
      healthyAt = isHealthy ? nowMs : Number.NEGATIVE_INFINITY;
    },
    /** Whether it took a message within the last minute and does not seem to hang. */
    isProven: (nowMs: number): boolean => !isStuck(nowMs) && nowMs - healthyAt <= PROOF_MS,
    /** Whether it took the last message, however long ago, and does not seem to hang. */
    isTaking: (nowMs: number): boolean => !isStuck(nowMs) && healthyAt !== Number.NEGATIVE_INFINITY,
    /** 0 before the first attempt has ended. */
    expectedDurationMs(nowMs: number): number {
      // The youngest attempt grows old only if no attempt ends. So one slow attempt among quick
      // ones changes nothing, and a hanging receiver is noticed long before its attempts time out.
      const youngest = [...begunAt.values()].at(-1) ?? nowMs;
      return nowMs - youngest > stuckMs() ? Math.max(meanMs ?? 0, nowMs - youngest) : (meanMs ?? 0);
    },
  };
}
