/**
 * Makes a wait for a batch: callers that arrive within `batchMs` of the first one continue together. Their
 * commands to Kafka or Redis then go out in one batch, at a fraction of the CPU time.
 *
 * @example
 * const waitForBatch = makeWaitForBatch(10);
 * await waitForBatch();
 */
export function makeWaitForBatch(batchMs: number): () => Promise<void> {
  let current: Promise<void> | undefined;
  return () => {
    current ??= new Promise((resolve) => {
      setTimeout(() => {
        current = undefined;
        resolve();
      }, batchMs);
    });
    return current;
  };
}
