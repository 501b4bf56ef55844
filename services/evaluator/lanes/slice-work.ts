/** How long one slice may hold the event loop: a sync check crosses the loop several times, and
 * waits for a slice at each. */
const SLICE_MS_MAX = 2;
/**
 * The pause before a slice while single checks are evaluated: batches then take at most two thirds
 * of the event loop. Short, because on a machine without a free core each pause also waits for one.
 */
const PAUSE_MS = 1;

/** Does some work for each item, in order, in slices. */
export type ForEachInSlices = <T>(
  items: readonly T[],
  work: (item: T, index: number) => void,
) => Promise<void>;

/**
 * Makes the function that cuts long work into slices of at most `SLICE_MS_MAX` (and one item), each
 * in a separate tick of the event loop: of all long work of a process, one slice runs between two
 * polls of the network. While other work needs the process, slices pause in between.
 *
 * @example
 * const forEachInSlices = makeSlicing(() => performance.now(), () => running.count() > 0);
 * await forEachInSlices(entries, (entry) => judge(entry));
 */
export function makeSlicing(monotonicMs: () => number, isNeeded: () => boolean): ForEachInSlices {
  let last: Promise<void> = Promise.resolve();
  const nextTick = (): Promise<void> => {
    last = last.then(
      () =>
        new Promise((resolve) => {
          if (isNeeded()) setTimeout(resolve, PAUSE_MS);
          else setImmediate(resolve);
        }),
    );
    return last;
  };
  return async function forEachInSlices(items, work) {
    for (let next = 0; next < items.length; ) {
      await nextTick();
      const endMs = monotonicMs() + SLICE_MS_MAX;
      do {
        work(items[next] as (typeof items)[number], next);
        next += 1;
      } while (next < items.length && monotonicMs() < endMs);
    }
  };
}
