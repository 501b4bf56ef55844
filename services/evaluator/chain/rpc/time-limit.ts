/** Shared by all limits: an error with a stack for each would cost as much as the rest of it. */
const ENDED = new Error('the work has ended');

type TimeLimit = {
  /** Aborted at the end of the time, with the outer signal, or by `abort`. */
  readonly signal: AbortSignal;
  readonly isTimeout: () => boolean;
  readonly abort: () => void;
  /** Must be called when the work has ended. */
  readonly end: () => void;
};

/**
 * Starts the time limit of some work; its signal is aborted from the start if no time is left. Unlike
 * `AbortSignal.timeout` it leaves no timer behind when the work has ended.
 *
 * @example
 * const limit = startTimeLimit(10_000, signal);
 * try {
 *   return await read(limit.signal);
 * } finally {
 *   limit.end();
 * }
 */
export function startTimeLimit(timeoutMs: number, outer?: AbortSignal): TimeLimit {
  const controller = new AbortController();
  const abort = () => controller.abort(ENDED);
  let isTimeout = timeoutMs <= 0;
  const timer = setTimeout(
    () => {
      isTimeout = true;
      abort();
    },
    Math.max(0, timeoutMs),
  );
  if (isTimeout || outer?.aborted) abort();
  outer?.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    isTimeout: () => isTimeout,
    abort,
    end: () => {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}
