import type { Lane } from '#shared/contracts/checks/check-requested.ts';

/** Checks that may be finished in one tick of the event loop: some milliseconds of work. */
const CHECKS_PER_TICK_MAX = 64;

/**
 * Limits how many checks are finished in one tick of the event loop. Further checks wait for the
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
export function makeTickLimiter() {
  const waiting: Record<Lane, (() => void)[]> = { interactive: [], bulk: [] };
  let startedCount = 0;
  let isTickScheduled = false;

  const scheduleTick = (): void => {
    if (isTickScheduled) return;
    isTickScheduled = true;
    setImmediate(runTick);
  };
  const runTick = (): void => {
    isTickScheduled = false;
    const next = waiting.interactive.splice(0, CHECKS_PER_TICK_MAX);
    next.push(...waiting.bulk.splice(0, CHECKS_PER_TICK_MAX - next.length));
    startedCount = next.length;
    if (startedCount > 0) scheduleTick();
    for (const resolve of next) resolve();
  };

  return {
    /** Returns `undefined` if the current tick has capacity: then the caller need not wait. */
    waitForTick(lane: Lane): Promise<void> | undefined {
      scheduleTick();
      if (startedCount < CHECKS_PER_TICK_MAX) {
        startedCount++;
        return undefined;
      }
      return new Promise((resolve) => waiting[lane].push(resolve));
    },
  };
}
