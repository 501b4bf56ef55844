import { setTimeout as delay } from 'node:timers/promises';
import type { Scene } from '../fault.ts';
import { balance } from '../system/balance.ts';
import { type Credentials, createApp } from '../system/create-app.ts';

const TICK_MS = 20;
/** While this many are under way a tick sends nothing. */
const IN_FLIGHT_MAX = 2_000;

/** Sends asynchronous checks of another client, a new one unless it is given, at a steady rate
 * beside the load; returns a function that stops it. */
export async function startFlood(
  { system, scope }: Scene,
  perSecond: number,
  bodyOf: (count: number) => object,
  app?: Credentials,
): Promise<() => Promise<void>> {
  const { apiKey } = app ?? (await createApp(system, 'Flood'));
  const client = scope.use(balance(system.gateways, apiKey));
  const ended = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const run = async (): Promise<void> => {
    const began = performance.now();
    for (let count = 0; !ended.signal.aborted; await delay(TICK_MS))
      // A late tick sends all that is due.
      for (
        const due = ((performance.now() - began) / 1_000) * perSecond;
        count < due && underWay.size < IN_FLIGHT_MAX;
        count++
      ) {
        const sending = client
          .check({ ...bodyOf(count), async: true })
          .catch(() => undefined)
          .finally(() => underWay.delete(sending));
        underWay.add(sending);
      }
  };
  const running = run();
  return async () => {
    ended.abort();
    await running;
    await Promise.all(underWay);
  };
}
