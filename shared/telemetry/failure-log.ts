import type { Logger } from './log.ts';

const INTERVAL_MS = 1_000;
/** Failures in a shared line; more begin another one. */
const SHARED_MAX = 500;

/** An answer with a status of 500 or more. */
type Failure = {
  /** The client's `instance`, without `/requests/`. */
  readonly instance: string;
  readonly traceId: string | undefined;
  /** Absent before the API key is known. */
  readonly clientId: string | undefined;
  readonly code: string;
  readonly cause: { readonly code: string; readonly message: string };
};

/**
 * Makes the function that logs every answer of 500 and more, so that the `instance` which a client
 * was given leads to its cause. While a dependency is away there are thousands a second: the first
 * has a line of its own, and the others of that second share one, or as few as possible. A process
 * that stops waits for the last of them.
 *
 * @example
 * const logFailure = makeFailureLog(log);
 * logFailure({ instance, traceId, clientId, code: 'dependency-unavailable', cause });
 */
export function makeFailureLog(log: Pick<Logger, 'warn'>): (failure: Failure) => void {
  let shared: Failure[] = [];
  let timer: NodeJS.Timeout | undefined;
  const writeShared = (): void => {
    if (shared.length > 0) log.warn({ failures: shared }, 'requests failed');
    shared = [];
  };
  const endSecond = (): void => {
    timer = undefined;
    writeShared();
  };
  return function logFailure(failure) {
    if (timer === undefined) {
      timer = setTimeout(endSecond, INTERVAL_MS).unref();
      return log.warn(failure, 'request failed');
    }
    timer.ref();
    shared.push(failure);
    if (shared.length === SHARED_MAX) writeShared();
  };
}
