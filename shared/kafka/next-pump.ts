/** The longest single timer; a later due time is looked at again then (setTimeout itself ends at 24 days). */
const WAKE_MS_MAX = 60_000;

/** When a pump that has stopped goes on by itself. */
export type NextPump = {
  /** In the next turn of the event loop, however often that is asked for in this one. */
  readonly soon: () => void;
  /** At a time, epoch ms by `now`, in place of the one before; never where it is infinite. */
  readonly at: (dueAt: number) => void;
  readonly cancel: () => void;
};

/**
 * @example
 * const next = makeNextPump(() => pump(), Date.now);
 * next.at(Date.now() + 5_000);
 */
export function makeNextPump(pump: () => void, now: () => number): NextPump {
  let turn: NodeJS.Immediate | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    soon() {
      turn ??= setImmediate(() => {
        turn = undefined;
        pump();
      });
    },
    at(dueAt) {
      clearTimeout(timer);
      if (dueAt === Number.POSITIVE_INFINITY) return;
      timer = setTimeout(pump, Math.min(Math.max(dueAt - now(), 1), WAKE_MS_MAX));
    },
    cancel() {
      clearImmediate(turn);
      turn = undefined;
      clearTimeout(timer);
    },
  };
}
