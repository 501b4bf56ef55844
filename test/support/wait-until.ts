import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 50;

/**
 * Polls until there is something to return.
 *
 * @throws Error after `timeoutMs` that names the condition (default 240 s: only a failure waits
 *   that long)
 */
export async function waitUntil<T>(
  what: string,
  poll: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 240_000,
): Promise<T> {
  const began = Date.now();
  for (;;) {
    const found = await poll();
    if (found !== undefined && found !== false) return found;
    if (Date.now() - began > timeoutMs) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await delay(POLL_INTERVAL_MS);
  }
}

/**
 * Runs assertions again and again until they pass: for a page or a list that is drawn a moment
 * after the action.
 *
 * @throws the error of the last try after `timeoutMs` (default 240 s)
 *
 * @example
 * await waitUntilPasses(async () => expect(await rows.allTextContents()).toEqual(['one', 'two']));
 */
export async function waitUntilPasses(assert: () => Promise<void>, timeoutMs = 240_000): Promise<void> {
  let failure: unknown;
  const passes = async () => {
    try {
      await assert();
      return true;
    } catch (error) {
      failure = error;
      return false;
    }
  };
  await waitUntil('assertions to pass', passes, timeoutMs).catch(() => {
    throw failure;
  });
}
