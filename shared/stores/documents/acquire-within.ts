import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '#shared/errors.ts';

/**
 * Tries to acquire a lock or a hold until there is one, at most for `msMax`.
 *
 * @param message of the error; it names the owner that did not release it
 * @throws ServiceError `overloaded`, and the errors of `acquire`
 *
 * @example
 * const hold = await acquireWithin({ msMax: 3_000, retryMs: 25, message: 'it is being deleted' }, () => ruleSets.hold(clientId, id));
 */
export async function acquireWithin<T>(
  { msMax, retryMs, message }: { readonly msMax: number; readonly retryMs: number; readonly message: string },
  acquire: () => Promise<T | undefined | false>,
): Promise<T> {
  for (const beganMs = performance.now(); ; await delay(retryMs)) {
    const acquired = await acquire();
    if (acquired) return acquired;
    if (performance.now() - beganMs > msMax) throw new ServiceError('overloaded', message);
  }
}
