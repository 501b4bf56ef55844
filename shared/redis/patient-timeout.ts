/** One wait for a timer: data read meanwhile is processed before the next wait. */
const SLICE_MS = 100;

export type PatientTimeout = { readonly clear: () => void };

/**
 * A timeout that does not take this process's own standing still for somebody else's: a timer that comes late runs
 * before the answers that arrived meanwhile are read. So the time is counted in slices, each of them once however late
 * it ends, and between two of them the event loop reads the arrived data.
 *
 * @example
 * const timeout = startPatientTimeout(400, () => reject(new Error('no answer in time')));
 * timeout.clear();
 */
export function startPatientTimeout(ms: number, expire: () => void): PatientTimeout {
  let timer: NodeJS.Timeout;
  const wait = (leftMs: number): void => {
    const sliceMs = Math.min(SLICE_MS, leftMs);
    timer = setTimeout(() => (leftMs > sliceMs ? wait(leftMs - sliceMs) : expire()), sliceMs);
  };
  wait(ms);
  return { clear: () => clearTimeout(timer) };
}
