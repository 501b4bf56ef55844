import { setTimeout as delay } from 'node:timers/promises';
import { ServiceError } from '#shared/errors.ts';
import { makeViewState, type ViewState } from '#shared/redis/view.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import { pause } from '#shared/wait-for.ts';
import { type Replay, replayTopics } from './replay-topics.ts';

const CHECK_INTERVAL_MS = 500;
const LOG_INTERVAL_MS = 10_000;

type ViewKeeper = AsyncDisposable & { readonly areComplete: () => boolean };

/** Completes the views if they are incomplete. Returns false if another process is already doing
 * this. */
export async function completeViews(replay: Replay): Promise<boolean> {
  const state = await makeViewState(replay.redis).readState();
  return state === 'complete' || (await replayTopics(replay)) !== undefined;
}

/**
 * Checks twice a second whether the views are complete, and completes them if not: after Redis was
 * wiped, restarted or replaced, on its first start, and after an operator's `store rebuild`.
 *
 * Resolves once the system is open, or when the process stops.
 */
export async function startKeepingViews(replay: Replay, stopping: AbortSignal): Promise<ViewKeeper> {
  const ended = new AbortController();
  const signal = AbortSignal.any([stopping, ended.signal]);
  const warn = makeThrottledWarning(replay.log, 'views are incomplete', LOG_INTERVAL_MS);
  const { readState } = makeViewState(replay.redis);
  const opened = Promise.withResolvers<void>();
  let areComplete = false;
  const keeping = (async () => {
    while (!signal.aborted) {
      try {
        const state = await readState();
        if (state === 'open' || state === 'complete') opened.resolve();
        areComplete = state === 'complete';
        if (!areComplete)
          areComplete =
            (await replayTopics(replay, { onOpen: opened.resolve, stopping: signal })) !== undefined;
      } catch (error) {
        areComplete = false;
        if (!signal.aborted) warn(error);
      }
      await pause(CHECK_INTERVAL_MS, signal);
    }
    opened.resolve();
  })();
  await opened.promise;
  return {
    areComplete: () => areComplete,
    async [Symbol.asyncDispose]() {
      ended.abort();
      await keeping;
    },
  };
}

/** Most a command waits for views that another process completes. */
const COMPLETE_WAIT_MS_MAX = 600_000;

/** Waits until the views are complete, at most 10 min. */
export async function waitUntilComplete({ readState }: Pick<ViewState, 'readState'>): Promise<void> {
  for (const began = Date.now(); (await readState()) !== 'complete'; await delay(CHECK_INTERVAL_MS))
    if (Date.now() - began > COMPLETE_WAIT_MS_MAX)
      throw new ServiceError('view-rebuilding', 'the views were not rebuilt in time');
}
