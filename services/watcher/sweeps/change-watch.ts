import { type Watch, watchKey, watch as watchTopic, watchUid } from '#shared/contracts/watches/watch.ts';
import type { WriteDocument, Written } from '#shared/stores/documents/write-document.ts';
import type { Watches } from '#shared/stores/watches/watches.ts';

export type ChangeWatchDependencies = {
  readonly watches: Pick<Watches, 'documents'>;
  readonly writeDocument: WriteDocument;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** How far the clocks of two processes may differ: a sweep may seem to have begun before it was
 * asked for. */
const CLOCK_ERROR_MS = 1_000;

type Change = (
  watch: Watch,
  by: (current: Watch) => Watch | undefined,
) => Promise<Written<Watch> | undefined>;

export type ChangeWatch = ReturnType<typeof makeChangeWatch>;

/** Changes stored watches. A change of a watch that was deleted never reaches a later watch with
 * the same id. */
export function makeChangeWatch({ watches, writeDocument, now }: ChangeWatchDependencies) {
  const changeStored: Change = (watch, by) =>
    writeDocument({ ...watches.documents, topic: watchTopic }, watchKey(watch), (current) =>
      current && watchUid(current) === watchUid(watch) ? by(current) : undefined,
    );
  const change: Change = (watch, by) =>
    changeStored(watch, (current) => (current.deletedAt === undefined ? by(current) : undefined));
  return {
    /** Changes a watch, also a deleted one. */
    changeStored,
    /** Changes a watch unless it was deleted. */
    change,
    /** Notes that a sweep has ended. `sweep`: its start, epoch ms. */
    noteSwept: async (watch: Watch, sweep: number): Promise<void> => {
      if (watch.sweepAskedAt !== undefined)
        await change(watch, ({ sweepAskedAt, ...current }) =>
          sweepAskedAt !== undefined && Date.parse(sweepAskedAt) <= sweep + CLOCK_ERROR_MS
            ? current
            : undefined,
        );
    },
    pause: async (watch: Watch, reason: NonNullable<Watch['paused']>['reason']): Promise<void> =>
      void (await change(watch, (current) =>
        current.paused ? undefined : { ...current, paused: { reason, at: new Date(now()).toISOString() } },
      )),
  };
}
