/**
 * Lets one event through in an interval and counts the others: for what a thousand records say at once.
 *
 * @returns for an event that goes through, how many were held back since the last one; otherwise undefined
 *
 * @example
 * const heldBack = makeHeldBack(2_000);
 * const others = heldBack();
 * if (others !== undefined) log.warn({ others }, 'record held, trying again');
 */
export function makeHeldBack(
  intervalMs: number,
  now: () => number = performance.now.bind(performance),
): () => number | undefined {
  let nextAt = Number.NEGATIVE_INFINITY;
  let count = 0;
  return () => {
    if (now() < nextAt) {
      count++;
      return undefined;
    }
    const others = count;
    count = 0;
    nextAt = now() + intervalMs;
    return others;
  };
}
