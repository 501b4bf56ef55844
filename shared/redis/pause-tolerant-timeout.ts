/** One wait for a timer: data read meanwhile is processed before the next wait. */
const SLICE_MS = 100;

export type PauseTolerantTimeout = { readonly clear: () => void };

/**
 * A timeout that does not count pauses of this process. After a pause a timer runs before the event
 * loop reads the answers that arrived meanwhile. So the time is counted in slices: each counts
 * once, however late it ends, and between two slices the event loop reads the arrived data.
 */
export function startPauseTolerantTimeout(ms: number, expire: () => void): PauseTolerantTimeout {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    const sliceMs = Math.min(SLICE_MS, leftMs);
    timer = setTimeout(() => (leftMs > sliceMs ? wait(leftMs - sliceMs) : expire()), sliceMs);
  };
  wait(ms);
  return { clear: () => clearTimeout(timer) };
}
