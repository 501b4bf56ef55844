import {
  type PauseReason,
  type Watch,
  watchKey,
  watch as watchTopic,
  watchUid,
} from '#shared/contracts/watches/watch.ts';
import type { Stores } from '../stores.ts';

/** How far the clocks of two processes may differ: a sweep may seem to have begun before it was
 * asked for. */
const CLOCK_ERROR_MS = 1_000;

/** Changes stored watches. A change of a watch that was deleted never reaches a later watch with
 * the same id. */
export function makeChangeWatch(deps: Stores) {
  const store = { ...deps.watches.documents, topic: watchTopic };
  /** Also a deleted one. */
  const changeStored = (watch: Watch, by: (current: Watch) => Watch | undefined) =>
    deps.writeDocument(store, watchKey(watch), (current) =>
      current && watchUid(current) === watchUid(watch) ? by(current) : undefined,
    );
  /** Unless it was deleted. */
  const change: typeof changeStored = (watch, by) =>
    changeStored(watch, (current) => (current.deletedAt === undefined ? by(current) : undefined));
  return {
    changeStored,
    change,
    async noteSwept(watch: Watch, sweep: number): Promise<void> {
      if (watch.sweepAskedAt !== undefined)
        await change(watch, ({ sweepAskedAt, ...current }) =>
          sweepAskedAt !== undefined && Date.parse(sweepAskedAt) <= sweep + CLOCK_ERROR_MS
            ? current
            : undefined,
        );
    },
    async pause(watch: Watch, reason: PauseReason): Promise<void> {
      const paused = { reason, at: new Date(deps.now()).toISOString() };
      await change(watch, (current) => (current.paused ? undefined : { ...current, paused }));
    },
  };
}

export type ChangeWatch = ReturnType<typeof makeChangeWatch>;
