// Processes are killed with -9 while checks of all modes come in.
// Nothing that was acknowledged may be lost, contradicted or answered wrongly.
import { makeChainOracle } from '../support/chain-oracle.ts';
import { makeCheckClient } from '../support/check-client.ts';
import { Ledger, type Reconciliation } from '../support/ledger.ts';
import { gatherEvidence, type Load, startLoad } from '../support/load.ts';
import { receiveWebhooks, type WebhookReceiver } from '../support/receive-webhooks.ts';
import { type StartedSystem, startSystem } from '../support/start-system.ts';
import { waitUntil } from '../support/wait-until.ts';

const PER_SECOND = 40;

let system: StartedSystem;
let receiver: WebhookReceiver;
beforeAll(async () => {
  system = await startSystem({
    args: ['--gateways', '2', '--evaluators', '2', '--result-stores', '1', '--dispatchers', '1'],
    // A delivery that a crash interrupted is tried again within the test.
    env: { WEBHOOK_SCHEDULE_SCALE: '0.01' },
  });
  receiver = await receiveWebhooks({ secret: system.ready.app.webhookSecret });
});
afterAll(async () => {
  await receiver?.[Symbol.asyncDispose]();
  await system?.[Symbol.asyncDispose]();
});

/** Sends load, does the harm in the middle of it, and reconciles. */
async function underLoad(harm: (load: Load) => Promise<void>): Promise<Reconciliation> {
  const ledger = new Ledger();
  const { apiKey } = system.ready.app;
  const clients = system.ready.gateways.map((url) => makeCheckClient({ url, apiKey }));
  const { chain } = system;
  const load = startLoad({ clients, chain, ledger, callbackUrl: receiver.url, perSecond: PER_SECOND });
  await sentMore(load);
  await harm(load);
  await sentMore(load);
  await load.stop();
  const evidence = await gatherEvidence(ledger, system.client, receiver);
  const ids = new Set(ledger.acknowledgedIds());
  const deliveries = evidence.deliveries.filter(({ requestId }) => ids.has(requestId));
  return ledger.reconcile({ ...evidence, deliveries, oracle: makeChainOracle(chain.rpc, chain) });
}

const sentMore = (load: Load): Promise<boolean> => {
  const before = load.count();
  return waitUntil('more load', () => load.count() > before + PER_SECOND);
};

test.each(['evaluator', 'result-store', 'webhook-dispatcher', 'gateway'])(
  'kill -9 of a process of %s under load loses nothing',
  async (service) => {
    const { broken, faults, counts } = await underLoad(() => system.kill(service));
    expect({ broken, faults }).toMatchObject({ broken: [] });
    expect(counts.acknowledged).toBeGreaterThan(PER_SECOND);
    expect(counts.undetermined).toBe(0);
  },
);
