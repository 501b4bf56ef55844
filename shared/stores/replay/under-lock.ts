import { randomUUID } from 'node:crypto';
import { ServiceError } from '#shared/errors.ts';
import { type Positions, REBUILD_LOCK_RENEW_MS, type ViewState } from '#shared/redis/view.ts';
import { startRepeating } from '#shared/repeat.ts';

/**
 * Does work on the views under the rebuild lock, which every write checks, and declares them complete up to the positions
 * that it returns.
 *
 * @returns the result of the work, or nothing if another process holds the lock
 * @throws ServiceError `view-rebuilding` when Redis was wiped or replaced meanwhile: to be started over
 */
export async function underRebuildLock<T extends { readonly positions: Positions }>(
  views: ViewState,
  work: (token: string, signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const token = randomUUID();
  if (!(await views.lock(token))) return undefined;
  const lost = new AbortController();
  const renew = async () => {
    if (!(await views.renewLock(token)))
      throw new ServiceError('view-rebuilding', 'the rebuild lock is lost');
  };
  const renewal = startRepeating(renew, {
    intervalMs: REBUILD_LOCK_RENEW_MS,
    onError: (error) => lost.abort(error),
  });
  try {
    const done = await work(token, lost.signal);
    if (!(await views.finish(token, done.positions)))
      throw new ServiceError('view-rebuilding', 'the rebuild lock is lost');
    return done;
  } catch (error) {
    // Else the next try would wait for the lock to end. Where Redis is away, it does.
    await views.releaseLock(token).catch(() => undefined);
    throw error;
  } finally {
    renewal.stop();
  }
}
