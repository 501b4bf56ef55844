import { setTimeout as delay } from 'node:timers/promises';
import type { Supervised } from './supervise.ts';

/** Rebuilding the views of a large log takes longest. */
const READY_MS_MAX = 10 * 60_000;
const PROBE_MS_MAX = 1_000;
/** All services start at once on a small machine: asked four times as often, they and the starter
 * spend a second of CPU more. */
const POLL_MS = 200;
/** A service that ends as often as this before it was ever ready will not get better by being
 * started again. */
const EXITS_MAX = 3;

/**
 * Waits until a service answers 200 on `/readyz`.
 *
 * @throws Error if it keeps ending, or is not ready in 10 minutes, with the last reason it gave.
 */
export async function waitUntilReady(service: Supervised, ops: string, signal: AbortSignal): Promise<void> {
  const giveUpAt = performance.now() + READY_MS_MAX;
  while (true) {
    signal.throwIfAborted();
    const reason = await askWhyNotReady(ops);
    if (reason === undefined) return;
    if (service.exitCount() >= EXITS_MAX)
      throw new Error(`${service.name} ended ${EXITS_MAX} times before it was ready; its output is above`);
    if (performance.now() > giveUpAt) throw new Error(`${service.name} is not ready: ${reason}`);
    await delay(POLL_MS);
  }
}

/** Undefined when it is ready. */
async function askWhyNotReady(ops: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${ops}/readyz`, { signal: AbortSignal.timeout(PROBE_MS_MAX) });
    const text = await response.text();
    return response.status === 200 ? undefined : text.trim();
  } catch {
    return 'it does not answer';
  }
}
