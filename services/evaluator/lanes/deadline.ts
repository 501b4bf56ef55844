/** Shared by all checks: an error with a stack per check would cost as much as the rest of the signal. */
const ENDED = new Error('the check has ended');

/** Starts the deadline timer of a check or of a part of a batch. The signal is already aborted if the deadline has passed. */
export function startDeadline(endAt: number, startedAt: number) {
  const controller = new AbortController();
  const abort = () => controller.abort(ENDED);
  const timer = setTimeout(abort, Math.max(0, endAt - startedAt));
  if (endAt <= startedAt) abort();
  return {
    signal: controller.signal,
    /** Also cancels calls that only this check waits for. */
    finish: () => {
      clearTimeout(timer);
      abort();
    },
  };
}
