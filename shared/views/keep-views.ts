import { setTimeout as delay } from 'node:timers/promises';
import { describeError, ServiceError } from '#shared/errors.ts';
import { pause } from '#shared/wait-for.ts';
import { type Rebuild, rebuildViews } from './rebuild-views.ts';
import { restoreTail } from './restore-tail.ts';

const LOOK_INTERVAL_MS = 500;

export type ViewKeeper = AsyncDisposable & { readonly areWhole: () => boolean };

/**
 * Makes the views whole where they are not: rebuilds them where Redis is empty, reads the topics' tails again where it
 * is another run of the server than before.
 *
 * @returns false if another process is at it
 */
export async function makeViewsWhole(rebuild: Rebuild): Promise<boolean> {
  const state = await rebuild.views.look();
  if (state === 'whole') return true;
  return (await (state === 'outdated' ? restoreTail(rebuild) : rebuildViews(rebuild))) !== undefined;
}

/**
 * Looks twice a second whether the views are whole, and makes them so where they are not: after Redis was wiped,
 * restarted or replaced, on its first start, and when an operator took the marker away.
 *
 * Resolves once they are whole, or when the process is asked to stop.
 */
export async function startKeepingViews(rebuild: Rebuild, stopping: AbortSignal): Promise<ViewKeeper> {
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  let whole = false;
  const look = async () => {
    try {
      whole = await makeViewsWhole(rebuild);
    } catch (error) {
      whole = false;
      rebuild.log.warn({ error: describeError(error) }, 'views are incomplete');
    }
  };
  await look();
  while (!whole && !signal.aborted) {
    await pause(LOOK_INTERVAL_MS, signal);
    await look();
  }
  const keeping = (async () => {
    while (!signal.aborted) {
      await pause(LOOK_INTERVAL_MS, signal);
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
