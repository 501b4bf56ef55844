import type { Logger } from 'pino';
import { describeError } from '#shared/errors.ts';

/**
 * Limits a log line to one per interval, and counts the suppressed ones.
 *
 * @param monotonicMs a clock that never goes back, ms
 * @returns a function that returns how many lines were suppressed since the last one, or
 *   `undefined` if this line must be suppressed too
 *
 * @example
 * const suppressedCount = makeLogThrottle(2_000);
 * const others = suppressedCount();
 * if (others !== undefined) log.warn({ others }, 'record held: retrying');
 */
export function makeLogThrottle(
  intervalMs: number,
  monotonicMs: () => number = performance.now.bind(performance),
): () => number | undefined {
  let nextAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    if (monotonicMs() < nextAt) {
      count++;
      return undefined;
    }
    const others = count;
    count = 0;
    nextAt = monotonicMs() + intervalMs;
    return others;
  };
}

/**
 * Makes a handler that warns of repeated failures, once per interval, with the number of suppressed
 * warnings as `others`.
 *
 * @example
 * const onError = makeThrottledWarning(log, 'sweeps not continued', 10_000);
 * startRepeating(runSweeps, { intervalMs: 500, onError });
 */
export function makeThrottledWarning(
  log: Pick<Logger, 'warn'>,
  message: string,
  intervalMs: number,
): (error: unknown) => void {
  const suppressedCount = makeLogThrottle(intervalMs);
  return (error) => {
    const others = suppressedCount();
    if (others !== undefined) log.warn({ error: describeError(error), others }, message);
  };
}
