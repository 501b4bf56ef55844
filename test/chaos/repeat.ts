import { setTimeout as delay } from 'node:timers/promises';

/**
 * Injects a fault at once and then every `everySeconds` for the duration of the row; in a short
 * row, once more in its middle at the latest. Returns when the time is over.
 */
export async function repeatFor(
  seconds: number,
  everySeconds: number,
  injectFault: (round: number) => unknown,
): Promise<void> {
  const everyMs = Math.min(everySeconds, seconds / 2) * 1_000;
  const endAt = performance.now() + seconds * 1_000;
  for (let round = 0; performance.now() + everyMs / 2 < endAt; round++) {
    await injectFault(round);
    await delay(Math.min(everyMs, Math.max(0, endAt - performance.now())));
  }
  await delay(Math.max(0, endAt - performance.now()));
}
