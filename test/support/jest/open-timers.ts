import { createHook } from 'node:async_hooks';

type Timer = { readonly hasRef?: () => boolean; readonly _idleTimeout?: number };

/**
 * Records where each timer is made, until it has fired or is cleared.
 *
 * @example
 * const timers = recordTimers();
 * timers.open(); // ['a timer of 1000 ms, made at delay (/…/wait-for.ts:36:13)\n …']
 * timers.stop();
 */
export function recordTimers(): { readonly open: () => string[]; readonly stop: () => void } {
  const made = new Map<number, { readonly timer: WeakRef<Timer>; readonly at: Error }>();
  const hook = createHook({
    // Timers are followed, not promises: those would slow every test.
    trackPromises: false,
    init(id, type, _trigger, timer: Timer) {
      if (type === 'Timeout') made.set(id, { timer: new WeakRef(timer), at: new Error('made') });
    },
    destroy: (id) => void made.delete(id),
  });
  hook.enable();
  return {
    open: () =>
      [...made.values()].flatMap(({ timer, at }) => {
        const known = timer.deref();
        if (!known?.hasRef?.()) return [];
        const [, ...frames] = (at.stack ?? '').split('\n');
        const ours = frames.filter((frame) => !/node:|node_modules\/jest|support\/jest/.test(frame));
        if (ours.length === 0) return [];
        return [`a timer of ${known._idleTimeout} ms, made\n${ours.join('\n')}`];
      }),
    stop: () => void hook.disable(),
  };
}
