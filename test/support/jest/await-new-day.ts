import { setTimeout as delay } from 'node:timers/promises';

const DAY_MS = 86_400_000;
/** Longer than a suite takes. */
const LAST_MS = 180_000;

/**
 * Waits for the next day (UTC) during the last minutes of a day: days, months and their counters
 * end at midnight, and a suite that begins before it would see some of its effects in one day and
 * some in the next.
 */
export async function awaitNewDay(nowMs = Date.now()): Promise<void> {
  const restMs = DAY_MS - (nowMs % DAY_MS);
  if (restMs < LAST_MS) await delay(restMs);
}
