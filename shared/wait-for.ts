import { setTimeout as delay } from 'node:timers/promises';
import { describeError, isRetriable, ServiceError } from './errors.ts';
import type { ServiceContext } from './lifecycle.ts';

const RETRY_MS = 500;
const REMIND_MS = 5_000;

/**
 * Tries to reach something that the process needs at its start, and says that it waits for it.
 *
 * @throws ServiceError `broker-unavailable` after `boundMs`; at once when the process is stopping, or when the
 *   failure is one that waiting does not mend
 */
export async function waitFor<T>(
  what: string,
  reach: () => Promise<T>,
  boundMs: number,
  { log, stopping }: Pick<ServiceContext, 'log' | 'stopping'>,
): Promise<T> {
  const began = Date.now();
  for (let remindedAt = 0; ; ) {
    try {
      return await reach();
    } catch (error) {
      const waitedMs = Date.now() - began;
      const hopeless = error instanceof ServiceError && !isRetriable(error);
      if (hopeless || stopping.aborted) throw error;
      if (waitedMs > boundMs)
        throw new ServiceError('broker-unavailable', `${what} did not come within ${boundMs} ms`, {
          cause: error,
        });
      if (Date.now() - remindedAt > REMIND_MS) {
        remindedAt = Date.now();
        log.warn({ waitedMs, boundMs, error: describeError(error) }, `waiting for ${what}`);
      }
      await delay(RETRY_MS, undefined, { signal: stopping }).catch(() => undefined);
    }
  }
}

/** Waits for `work`, at most `boundMs`. Whether it finished is of no interest to the caller. */
export async function within(boundMs: number, work: Promise<unknown>): Promise<void> {
  const bound = new AbortController();
  await Promise.race([work, delay(boundMs, undefined, { signal: bound.signal }).catch(() => undefined)]);
  bound.abort();
}

/**
 * Waits for `work` unless the process is told to stop first.
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
