import type { Handler } from '#shared/kafka/consumer/record.ts';

type RunningChecks = {
  /** Checks that are evaluated now; a parked check only waits, and does not count. */
  readonly count: () => number;
  /** Makes a handler whose checks are counted. */
  readonly counted: <M>(handle: Handler<M>) => Handler<M>;
};

/**
 * Counts the single checks in evaluation, so that batches leave them the CPU.
 *
 * @example
 * const running = makeRunningChecks();
 * const handle = running.counted(makeRequestHandler(dependencies, 'bulk'));
 */
export function makeRunningChecks(): RunningChecks {
  let count = 0;
  return {
    count: () => count,
    counted: (handle) => async (message, record) => {
      let isCounted = true;
      count += 1;
      const leave = () => {
        if (isCounted) count -= 1;
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
