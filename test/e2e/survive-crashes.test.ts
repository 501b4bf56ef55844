// Processes are killed with -9 while checks of all modes come in.
// Nothing that was acknowledged may be lost, contradicted or answered wrongly.
import { makeCheckClient } from '../support/check-client.ts';
import { NO_FAULTS } from '../support/ledger.ts';
import { reconcileUnderLoad } from '../support/reconcile-under-load.ts';
import { type StartedSystem, startSystem } from '../support/start-system.ts';

let system: StartedSystem;
beforeAll(async () => {
  system = await startSystem({
    args: ['--gateways', '2', '--evaluators', '2'],
    // A delivery that a crash interrupted is tried again within the test.
    env: { WEBHOOK_SCHEDULE_SCALE: '0.01' },
  });
});
afterAll(async () => system?.[Symbol.asyncDispose]());

test.each(['evaluator', 'result-store', 'webhook-dispatcher', 'gateway'])(
  'kill -9 of a process of %s under load loses nothing',
  async (service) => {
    const { gateways, app } = system.ready;
    const clients = gateways.map((url) => makeCheckClient({ url, ...app }));
    const { faults, counts } = await reconcileUnderLoad(system, () => system.kill(service), clients);
    expect(faults).toEqual(NO_FAULTS);
    expect(counts.undetermined).toBe(0);
  },
);
