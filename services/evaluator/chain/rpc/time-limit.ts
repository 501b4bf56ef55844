type TimeLimit = {
  /** Aborted at the end of the time, or with the outer signal. */
  readonly signal: AbortSignal;
  readonly isTimeout: () => boolean;
  /** Must be called when the work has ended. */
  readonly end: () => void;
};

/**
 * Starts the time limit of some work. Unlike `AbortSignal.timeout` it leaves no timer behind when
 * the work has ended.
 *
 * @example
 * const limit = startTimeLimit(signal, 10_000);
 * try {
 *   return await read(limit.signal);
 * } finally {
 *   limit.end();
 * }
 */
export function startTimeLimit(outer: AbortSignal, timeoutMs: number): TimeLimit {
  const controller = new AbortController();
  let isTimeout = false;
  const timer = setTimeout(() => {
    isTimeout = true;
    controller.abort();
  }, timeoutMs);
  const abort = () => controller.abort();
  if (outer.aborted) abort();
  outer.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    isTimeout: () => isTimeout,
    end: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
