import type { Owner } from '#shared/fairness/fair-shares.ts';
import { FairTicks } from '#shared/fairness/fair-ticks.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import { READ_LANES, type ReadLane } from '../domain/read.ts';

/** How long checks may be finished in one tick of the event loop. */
const FINISHING_MS_PER_TICK = 4;
/** How long one slice may hold the event loop: a sync check crosses the loop several times, and
 * waits for a slice at each. */
const SLICE_MS_MAX = 2;
/**
 * The pause before a slice while single checks are evaluated: batches then take at most two thirds
 * of the event loop. Short, because on a machine without a free core each pause also waits for one.
 */
const PAUSE_MS = 1;

export type EventLoopShares = ReturnType<typeof makeEventLoopShares>;

/**
 * Shares the event loop among the checks and parts of one process.
 *
 * One answer of a chain completes every check that requested the same read: thousands at once if one
 * client checks one wallet repeatedly, or lets them wait until the same instant. Finishing all of
 * them in one tick, or all entries of a part, would block the event loop for every other client; so
 * they are finished a few at a time, by turns of accounts, then of apps.
 *
 * @example
 * const eventLoop = makeEventLoopShares();
 * await eventLoop.waitForTick('bulk', check);
 * await eventLoop.forEachInSlices(entries, (entry) => judge(entry));
 */
export function makeEventLoopShares(monotonicMs: () => number = () => performance.now()) {
  const finishing = new FairTicks({
    msPerTick: FINISHING_MS_PER_TICK,
    rankCount: READ_LANES.length,
    monotonicMs,
  });
  let runningCount = 0;
  let lastSlice: Promise<void> = Promise.resolve();

  const startSlice = (): Promise<void> => {
    lastSlice = lastSlice.then(
      () =>
        new Promise((resolve) => {
          if (runningCount > 0) setTimeout(resolve, PAUSE_MS);
          else setImmediate(resolve);
        }),
    );
    return lastSlice;
  };

  return {
    /** Awaited before a check, or a part, whose reads are complete is judged: beyond the share of a
     * tick it waits for the next ones. Earlier lanes go first; in a lane, owners take turns. */
    waitForTick: (lane: ReadLane, owner: Owner): Promise<void> =>
      finishing.turn(owner, READ_LANES.indexOf(lane)),
    /**
     * Does some work for each item, in order, in slices of at most `SLICE_MS_MAX` (and one item), each
     * in a separate tick: of all long work of a process, one slice runs between two polls of the
     * network. Slices pause in between while single checks are evaluated. A single item is no long
     * work.
     */
    async forEachInSlices<T>(items: readonly T[], work: (item: T, index: number) => void): Promise<void> {
      for (let next = 0; next < items.length; ) {
        if (items.length > 1) await startSlice();
        const endMs = monotonicMs() + SLICE_MS_MAX;
        do {
          work(items[next] as T, next);
          next += 1;
        } while (next < items.length && monotonicMs() < endMs);
      }
    },
    /** Makes a handler whose checks count as being evaluated; a parked check only waits, and does not
     * count. */
    counted:
      <M>(handle: Handler<M>): Handler<M> =>
      async (message, record) => {
        let isCounted = true;
        runningCount += 1;
        const leave = () => {
          if (isCounted) runningCount -= 1;
          isCounted = false;
        };
        const park: typeof record.park = (leaveParked) => {
          leave();
          record.park(leaveParked);
        };
        await handle(message, { ...record, park }).finally(leave);
      },
  };
}
