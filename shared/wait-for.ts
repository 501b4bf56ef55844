import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, type ErrorCode, isRetriable, ServiceError } from './errors.ts';

const RETRY_MS = 500;
const REMIND_MS = 5_000;

/**
 * Tries to reach a dependency at the start of a process, every 500 ms, and logs that it waits.
 *
 * @param code of the error after `boundMs`
 * @throws ServiceError `code` after `boundMs`; the attempt's own error at once if the process is
 *   stopping or the error is not retriable
 */
export async function waitFor<T>(
  awaited: string,
  code: ErrorCode,
  reach: () => Promise<T>,
  boundMs: number,
  { log, stopping }: { readonly log: Pick<Logger, 'warn'>; readonly stopping: AbortSignal },
): Promise<T> {
  const began = Date.now();
  const waitedMs = () => Date.now() - began;
  const isTransient = (error: unknown) => !(error instanceof ServiceError) || isRetriable(error);
  let remindedAt = 0;
  try {
    return await retry(reach, {
      delayMs: RETRY_MS,
      signal: stopping,
      mayRetry: (error) => isTransient(error) && waitedMs() <= boundMs,
      onRetry(error) {
        if (Date.now() - remindedAt <= REMIND_MS) return;
        remindedAt = Date.now();
        log.warn({ waitedMs: waitedMs(), boundMs, error: describeError(error) }, `waiting for ${awaited}`);
      },
    });
  } catch (error) {
    if (!isTransient(error) || stopping.aborted) throw error;
    throw new ServiceError(code, `${awaited} could not be reached within ${boundMs} ms`, { cause: error });
  }
}

/** Waits `ms`, less if the signal is aborted; it never rejects. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  delay(ms, undefined, signal && { signal }).catch(() => undefined);

type RetryOptions = {
  /** Before the second try; it doubles with each further one up to `delayMsMax`, whose default it is. */
  readonly delayMs: number;
  readonly delayMsMax?: number;
  /** Default: no bound. */
  readonly triesMax?: number;
  /** Default: `isRetriable`. */
  readonly mayRetry?: (error: unknown) => boolean;
  /** Ends the retries. */
  readonly signal?: AbortSignal;
  /** Called with the error before each wait. */
  readonly onRetry?: (error: unknown) => void;
};

/**
 * Repeats work that failed while the same may succeed later.
 *
 * @throws the error of the last try
 */
export async function retry<T>(
  work: () => Promise<T>,
  { delayMs, delayMsMax = delayMs, triesMax = Infinity, mayRetry = isRetriable, ...options }: RetryOptions,
): Promise<T> {
  const { signal, onRetry } = options;
  for (let [tries, waitMs] = [1, delayMs]; ; tries++, waitMs = Math.min(2 * waitMs, delayMsMax)) {
    try {
      return await work();
    } catch (error) {
      if (!mayRetry(error) || tries >= triesMax || signal?.aborted) throw error;
      onRetry?.(error);
      await pause(waitMs, signal);
    }
  }
}

/** Waits for `work`, at most `boundMs`; undefined if it has not finished by then. */
export async function within<T>(boundMs: number, work: Promise<T>): Promise<T | undefined> {
  const bound = new AbortController();
  try {
    return await Promise.race([work, pause(boundMs, bound.signal).then(() => undefined)]);
  } finally {
    bound.abort();
  }
}

/**
 * Waits for `work` unless the process is asked to stop first.
 *
 * @throws the signal's reason
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    }),
  ]);
}
