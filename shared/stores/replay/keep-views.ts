import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '#shared/errors.ts';
import { makeViewState, type ViewState } from '#shared/redis/view.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import { pause } from '#shared/wait-for.ts';
import { type Rebuild, rebuildViews } from './rebuild-views.ts';
import { restoreTail } from './restore-tail.ts';

const CHECK_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 10_000;

export type ViewKeeper = AsyncDisposable & { readonly areComplete: () => boolean };

/**
 * Completes the views if they are incomplete: rebuilds them if Redis is empty, reads the newest
 * records of the topics again if Redis was restarted or replaced.
 *
 * @returns false if another process is already doing this
 */
export async function completeViews(rebuild: Rebuild): Promise<boolean> {
  const state = await makeViewState(rebuild.redis).readState();
  if (state === 'complete') return true;
  return (await (state === 'outdated' ? restoreTail(rebuild) : rebuildViews(rebuild))) !== undefined;
}

/**
 * Checks twice a second whether the views are complete, and completes them if not: after Redis was
 * wiped, restarted or replaced, on its first start, and after an operator's `store rebuild`.
 *
 * Resolves once they are complete, or when the process stops.
 */
export async function startKeepingViews(rebuild: Rebuild, stopping: AbortSignal): Promise<ViewKeeper> {
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  const warn = makeThrottledWarning(rebuild.log, 'views are incomplete', LOG_INTERVAL_MS);
  let areComplete = false;
  const checkViews = async () => {
    try {
      areComplete = await completeViews(rebuild);
    } catch (error) {
      areComplete = false;
      warn(error);
    }
  };
  await checkViews();
  while (!areComplete && !signal.aborted) {
    await pause(CHECK_INTERVAL_MS, signal);
    await checkViews();
  }
  const keeping = (async () => {
    while (!signal.aborted) {
      await pause(CHECK_INTERVAL_MS, signal);
      if (!signal.aborted) await checkViews();
    }
  })();
  return {
    areComplete: () => areComplete,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await keeping;
    },
  };
}

/** Most a command waits for views that another process rebuilds. */
const COMPLETE_WAIT_MS_MAX = 600_000;

/** Waits until the views are complete, at most 10 min. */
export async function waitUntilComplete(views: Pick<ViewState, 'isComplete'>): Promise<void> {
  for (const began = Date.now(); !(await views.isComplete()); await delay(CHECK_INTERVAL_MS))
    if (Date.now() - began > COMPLETE_WAIT_MS_MAX)
      throw new ServiceError('view-rebuilding', 'the views were not rebuilt in time');
}
