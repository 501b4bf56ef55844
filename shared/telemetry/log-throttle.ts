/**
 * Limits a log line to one per interval, and counts the suppressed ones.
 *
 * @param monotonicMs a clock that never goes back, ms
 * @returns a function that returns how many lines were suppressed since the last one, or `undefined` if this line must be
 *   suppressed too
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
