import type { Lane } from '#shared/contracts/checks/check-requested.ts';
import { TickShare } from '#shared/tick-share.ts';

/** How long checks may be finished in one tick of the event loop. */
const FINISHING_MS_PER_TICK = 4;

/**
 * Limits how long checks are finished in one tick of the event loop. Further checks wait for the
 * next ticks, checks of the interactive lane first.
 *
 * One answer of a chain completes every check that requested the same read: thousands at once if
 * one client checks one wallet repeatedly. Finishing all of them in one tick would block the event
 * loop for every other client.
 *
 * @example
 * const limiter = makeTickLimiter();
 * await limiter.waitForTick('bulk');
 */
export function makeTickLimiter(monotonicMs = () => performance.now()) {
  const share = new TickShare(FINISHING_MS_PER_TICK, monotonicMs);
  const waiting: Record<Lane, (() => void)[]> = { interactive: [], bulk: [] };
  let isContinuing = false;

  const continueNext = (): void => {
    if (!share.hasTime()) return void setImmediate(continueNext);
    const next = waiting.interactive.shift() ?? waiting.bulk.shift();
    isContinuing = next !== undefined;
    next?.();
    // Behind the microtask in which that check is finished, which takes its time.
    if (isContinuing) queueMicrotask(continueNext);
  };

  return {
    waitForTick: (lane: Lane): Promise<void> =>
      new Promise((resolve) => {
        waiting[lane].push(resolve);
        if (!isContinuing) queueMicrotask(continueNext);
        isContinuing = true;
      }),
  };
}
