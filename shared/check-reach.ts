import { startRepeating } from './repeat.ts';

const POLL_INTERVAL_MS = 2_000;
/** Two polls may fail, or one may hang, before the dependency counts as unreachable. */
const SILENT_MS_MAX = 5_000;

type ReachCheck = AsyncDisposable & {
  /** True while the dependency answers, otherwise the fault. */
  readonly check: () => true | string;
};

/**
 * Polls a dependency every 2 s. A dependency counts as unreachable also if it is frozen and a poll
 * hangs.
 *
 * @param name as in "the broker" does not answer
 *
 * @example
 * const reach = startReachCheck('Redis', () => redis.ping());
 * readiness.add('redis', reach.check);
 */
export function startReachCheck(name: string, ask: () => Promise<unknown>): ReachCheck {
  let answeredAtMs = performance.now();
  const polling = startRepeating(
    async () => {
      await ask();
      answeredAtMs = performance.now();
    },
    { intervalMs: POLL_INTERVAL_MS },
  );
  return {
    check: () => performance.now() - answeredAtMs <= SILENT_MS_MAX || `${name} does not answer`,
    [Symbol.asyncDispose]: () => polling[Symbol.asyncDispose](),
  };
}
