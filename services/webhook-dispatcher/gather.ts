/**
 * Makes a wait that all who come within `gatherMs` of the first end together: what they do next goes out in one
 * batch, to Kafka as to Redis, for a fraction of the CPU time.
 *
 * @example
 * const gather = makeGather(10);
 * await gather();
 */
export function makeGather(gatherMs: number): () => Promise<void> {
  let current: Promise<void> | undefined;
  return () => {
    current ??= new Promise((resolve) => {
      setTimeout(() => {
        current = undefined;
        resolve();
      }, gatherMs);
    });
    return current;
  };
}
