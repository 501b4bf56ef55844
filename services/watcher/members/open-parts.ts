import type { LeasedSlots } from '#shared/fairness/leased-slots.ts';

/**
 * Parts of all watches of a client app that may wait for their results. The gateway refuses all
 * batches while 2 000 parts wait, so the watches of one app must not fill the lane.
 */
const PARTS_MAX = 500;
/** Sweeps leave some of these to new members and to transfers. */
const SWEEP_PARTS_MAX = 400;
/** A part whose result is lost no longer counts then. */
const PART_MS_MAX = 15 * 60_000;

const openPartsKey = (clientId: string): string => `watch-parts:${clientId}`;

/** The parts of a client app's watches that wait for their results. */
export type OpenParts = {
  /** Counts a part; false if too many wait already. */
  readonly take: (clientId: string, requestId: string, isOfSweep?: boolean) => Promise<boolean>;
  /** The part has its result, or was not published. */
  readonly give: (clientId: string, requestId: string) => Promise<void>;
};

/**
 * @example
 * const openParts = makeOpenParts(makeLeasedSlots(redis));
 * if (!(await openParts.take('app_1', 'watch_7'))) return;
 */
export function makeOpenParts({ take, give }: LeasedSlots): OpenParts {
  return {
    take: (clientId, requestId, isOfSweep = false) =>
      take(openPartsKey(clientId), requestId, isOfSweep ? SWEEP_PARTS_MAX : PARTS_MAX, PART_MS_MAX),
    give: (clientId, requestId) => give(openPartsKey(clientId), requestId),
  };
}
