import { setTimeout as delay } from 'node:timers/promises';

const LOOK_INTERVAL_MS = 50;

/**
 * Looks again and again until there is something to return.
 *
 * @throws Error after `timeoutMs` (default 240 s: a busy machine takes its time, and only a failure waits so long), naming `what` was waited for
 */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 240_000,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() - began > timeoutMs) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await delay(LOOK_INTERVAL_MS);
  }
}
