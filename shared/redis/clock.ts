import { startRepeating } from '#shared/repeat.ts';
import type { Redis } from './connect.ts';

const MEASURE_INTERVAL_MS = 10_000;
/** Questions per measurement. */
const SAMPLES = 5;

/**
 * Follows Redis's clock: measures the difference at the start and every 10 s, and keeps the last
 * one when Redis is away.
 *
 * Of several answers the fastest counts: a difference is known to half of the time that its answer
 * took, and an answer takes long when the process or Redis waits for a core (Cristian 1989,
 * "Probabilistic clock synchronization").
 */
export async function startClock(redis: Pick<Redis, 'time'>) {
  let skewMs = 0;
  /** Redis's time of the last measurement, and when it was, by the monotonic clock: a step of the
   * machine's wall clock moves nothing. */
  let known = { redisMs: 0, atMs: 0 };
  const measure = async () => {
    let best = { tookMs: Number.POSITIVE_INFINITY, skewMs, known };
    for (let i = 0; i < SAMPLES; i++) {
      const before = Date.now();
      const began = performance.now();
      const [seconds, microseconds] = await redis.time();
      const tookMs = performance.now() - began;
      const redisMs = Number(seconds) * 1000 + Number(microseconds) / 1000;
      if (tookMs < best.tookMs)
        best = {
          tookMs,
          skewMs: before + tookMs / 2 - redisMs,
          known: { redisMs, atMs: began + tookMs / 2 },
        };
    }
    ({ skewMs, known } = best);
  };
  await measure();
  const measuring = startRepeating(measure, { intervalMs: MEASURE_INTERVAL_MS });
  return {
    /** Epoch ms by Redis's clock, the one clock of all times that cross processes. */
    now: () => Math.round(known.redisMs + performance.now() - known.atMs),
    /** How far this process's clock is ahead of Redis's, in ms. */
    skewMs: () => skewMs,
    [Symbol.asyncDispose]: () => measuring[Symbol.asyncDispose](),
  };
}
