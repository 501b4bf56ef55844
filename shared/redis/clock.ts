import { startRepeating } from '#shared/repeat.ts';
import type { Redis } from './connect.ts';

const MEASURE_INTERVAL_MS = 10_000;

type Clock = AsyncDisposable & {
  /** Epoch ms by Redis's clock, the one clock of all times that cross processes. */
  readonly now: () => number;
  /** How far this process's clock is ahead of Redis's, in ms. */
  readonly skewMs: () => number;
};

/**
 * Follows Redis's clock: measures the difference at the start and every 10 s, and keeps the last one when Redis
 * is away.
 *
 * @example
 * const clock = scope.use(await startClock(redis));
 * const deadlineAt = clock.now() + 10_000;
 */
export async function startClock(redis: Pick<Redis, 'time'>): Promise<Clock> {
  let skewMs = 0;
  const measure = async () => {
    const before = Date.now();
    const [seconds, microseconds] = await redis.time();
    const middle = (before + Date.now()) / 2;
    skewMs = middle - (Number(seconds) * 1000 + Number(microseconds) / 1000);
  };
  await measure();
  const measuring = startRepeating(measure, { intervalMs: MEASURE_INTERVAL_MS });
  return {
    now: () => Math.round(Date.now() - skewMs),
    skewMs: () => skewMs,
    [Symbol.asyncDispose]: () => measuring[Symbol.asyncDispose](),
  };
}
