/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Processes are killed with -9 while checks of all modes arrive.
// No acknowledged check may be lost, contradicted or answered wrongly.

import { NO_FAULTS } from '../../support/judges/ledger.ts';
import { reconcileUnderLoad } from '../../support/judges/reconcile-under-load.ts';
import { makeCheckClient } from '../../support/systems/check-client.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';

const system = sharedSystem();

test.each(['evaluator', 'result-store', 'webhook-dispatcher', 'gateway'])(
  'kill -9 of a %s process under load loses nothing',
  async (service) => {
    const { gateways, app } = system.ready;
    const clients = gateways.map((url) => makeCheckClient({ url, ...app }));
    const { faults, counts } = await reconcileUnderLoad(system, () => system.kill(service), clients);
    expect(faults).toEqual(NO_FAULTS);
    expect(counts.undetermined).toBe(0);
  },
);
