import { setTimeout as delay } from 'node:timers/promises';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import { Ledger } from '../../support/judges/ledger.ts';
import { gatherEvidence, startLoad } from '../../support/judges/load.ts';
import { IN_FLIGHT_MAX, PER_SECOND } from '../runner/run-row.ts';
import { balance } from './balance.ts';
import type { ChaosSystem } from './chaos-system.ts';
import { createApp } from './create-app.ts';

const WARM_UP_MS = 8_000;

/**
 * Puts a new system under load for some seconds: freshly loaded code is slow, and a row's figures
 * should be those of a warm system.
 */
export async function warmUp(system: ChaosSystem): Promise<void> {
  await using scope = new AsyncDisposableStack();
  const app = await createApp(system, 'Warm up');
  const receiver = scope.use(await receiveWebhooks({ secret: app.webhookSecret }));
  const client = scope.use(balance(system.gateways, app.apiKey));
  const ledger = new Ledger();
  const load = startLoad({
    clients: [client],
    chain: system.chain,
    ledger,
    callbackUrl: () => receiver.url,
    perSecond: PER_SECOND,
    follow: true,
    inFlightMax: IN_FLIGHT_MAX,
  });
  await delay(WARM_UP_MS);
  await load.stop();
  // No delivery of the warm-up is left for a row.
  await gatherEvidence(ledger, client, receiver);
}
