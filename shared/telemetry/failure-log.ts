import type { Logger } from './log.ts';

/** Failures of a second that have a line each; the others of that second share one. */
const LINES_MAX = 3;
const INTERVAL_MS = 1_000;
/** Failures in a shared line; more are only counted. */
const SHARED_MAX = 500;

/** An answer with a status of 500 or more. */
type Failure = {
  /** What the client has in `instance`, without `/requests/`. */
  readonly instance: string;
  readonly traceId: string | undefined;
  /** Absent before the API key is known. */
  readonly clientId: string | undefined;
  readonly code: string;
  readonly cause: { readonly code: string; readonly message: string };
};

/**
 * Makes the function that logs answers of 500 and more, so that the `instance` which a client was
 * given leads to its cause. While a dependency is away there are thousands a second: a few have a
 * line of their own, and the others of the second are listed in one.
 *
 * @example
 * const logFailure = makeFailureLog(log);
 * logFailure({ instance, traceId, clientId, code: 'dependency-unavailable', cause });
 */
export function makeFailureLog(log: Pick<Logger, 'warn'>): (failure: Failure) => void {
  let countOfSecond = 0;
  let shared: Failure[] = [];
  let isRunning = false;
  const endSecond = (): void => {
    isRunning = false;
    if (shared.length > 0)
      log.warn({ failures: shared, others: countOfSecond - LINES_MAX - shared.length }, 'requests failed');
    countOfSecond = 0;
    shared = [];
  };
  return function logFailure(failure) {
    if (!isRunning) setTimeout(endSecond, INTERVAL_MS).unref();
    isRunning = true;
    countOfSecond++;
    if (countOfSecond <= LINES_MAX) log.warn(failure, 'request failed');
    else if (shared.length < SHARED_MAX) shared.push(failure);
  };
}
