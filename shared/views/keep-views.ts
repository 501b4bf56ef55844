import { setTimeout as delay } from 'node:timers/promises';
import { describeError, ServiceError } from '#shared/errors.ts';
import { type Rebuild, rebuildViews } from './rebuild-views.ts';

const LOOK_INTERVAL_MS = 500;

export type ViewKeeper = AsyncDisposable & { readonly areWhole: () => boolean };

/**
 * Looks twice a second whether the views are whole, and rebuilds them where they are not: after Redis was wiped, on
 * its first start, and when an operator took the marker away.
 *
 * Resolves once they are whole, or when the process is told to stop.
 */
export async function startKeepingViews(rebuild: Rebuild, stopping: AbortSignal): Promise<ViewKeeper> {
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  let whole = false;
  const look = async () => {
    try {
      whole = (await rebuild.views.isWhole()) || (await rebuildViews(rebuild)) !== undefined;
    } catch (error) {
      whole = false;
      rebuild.log.warn({ error: describeError(error) }, 'views are not whole');
    }
  };
  const rest = () => delay(LOOK_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  await look();
  while (!whole && !signal.aborted) {
    await rest();
    await look();
  }
  const keeping = (async () => {
    while (!signal.aborted) {
      await rest();
      if (!signal.aborted) await look();
    }
  })();
  return {
    areWhole: () => whole,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await keeping;
    },
  };
}

/** Most a command waits for views that another process rebuilds. */
const WHOLE_WAIT_MS_MAX = 600_000;

/** Waits until the views are whole, at most 10 min. */
export async function waitUntilWhole(views: Pick<Rebuild['views'], 'isWhole'>): Promise<void> {
  for (const began = Date.now(); !(await views.isWhole()); await delay(LOOK_INTERVAL_MS))
    if (Date.now() - began > WHOLE_WAIT_MS_MAX)
      throw new ServiceError('view-rebuilding', 'the views were not rebuilt in time');
}
