import { watchKey, watch as watchTopic, watchUid } from '#shared/contracts/watches/watch.ts';
import type { Dependencies } from '../dependencies.ts';

/** How far the clocks of two processes may differ: a sweep may seem to have begun before it was
 * asked for. */
const CLOCK_ERROR_MS = 1_000;

/** Changes stored watches. A change of a watch that was deleted never reaches a later watch with
 * the same id. */
export function makeChangeWatch(
  deps: Dependencies,
): Pick<Dependencies, 'change' | 'changeStored' | 'noteSwept' | 'pause'> {
  const changeStored: Dependencies['change'] = (watch, by) =>
    deps.writeDocument({ ...deps.watches.documents, topic: watchTopic }, watchKey(watch), (current) =>
      current && watchUid(current) === watchUid(watch) ? by(current) : undefined,
    );
  const change: Dependencies['change'] = (watch, by) =>
    changeStored(watch, (current) => (current.deletedAt === undefined ? by(current) : undefined));
  return {
    changeStored,
    change,
    async noteSwept(watch, sweep) {
      if (watch.sweepAskedAt !== undefined)
        await change(watch, ({ sweepAskedAt, ...current }) =>
          sweepAskedAt !== undefined && Date.parse(sweepAskedAt) <= sweep + CLOCK_ERROR_MS
            ? current
            : undefined,
        );
    },
    pause: async (watch, reason) =>
      void (await change(watch, (current) =>
        current.paused
          ? undefined
          : { ...current, paused: { reason, at: new Date(deps.now()).toISOString() } },
      )),
  };
}
