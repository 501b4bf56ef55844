import { receiveWebhooks } from '../fakes/receive-webhooks.ts';
import type { CheckClient } from '../systems/check-client.ts';
import type { StartedSystem } from '../systems/start-system.ts';
import { waitUntil } from '../wait-until.ts';
import { makeChainOracle } from './chain-oracle.ts';
import { Ledger, type Reconciliation } from './ledger.ts';
import { gatherEvidence, type Load, startLoad } from './load.ts';

/** Two cores can handle this beside the whole system and the test. */
const PER_SECOND = 40;

type System = Pick<StartedSystem, 'chain' | 'client'> & {
  readonly ready: { readonly app: Pick<StartedSystem['ready']['app'], 'webhookSecret'> };
  /** The address of this machine for its webhooks; default loopback. */
  readonly receiverHost?: string;
};

/**
 * Sends load of all modes, injects the fault in the middle of it, continues the load until checks
 * are accepted again (unless the fault has stopped it), and compares the answers that clients got
 * with the outcomes. Webhooks go to a receiver that nothing else uses, so every delivery must
 * belong to the load.
 *
 * @example
 * const { faults } = await reconcileUnderLoad(system, () => system.kill('evaluator'));
 * expect(faults).toEqual(NO_FAULTS);
 */
export async function reconcileUnderLoad(
  system: System,
  injectFault: (load: Load) => Promise<unknown>,
  clients: readonly CheckClient[] = [system.client],
): Promise<Reconciliation> {
  const { chain, ready } = system;
  await using receiver = await receiveWebhooks({
    secret: ready.app.webhookSecret,
    ...(system.receiverHost === undefined ? {} : { host: system.receiverHost }),
  });
  const ledger = new Ledger();
  const load = startLoad({ clients, chain, ledger, callbackUrl: receiver.url, perSecond: PER_SECOND });
  const accepted = (count: number) =>
    waitUntil('checks to be accepted', () => ledger.acknowledgedIds().length > count);
  try {
    await accepted(PER_SECOND);
    await injectFault(load);
    if (!load.isStopped()) await accepted(ledger.acknowledgedIds().length + PER_SECOND);
  } finally {
    await load.stop();
  }
  const evidence = await gatherEvidence(ledger, system.client, receiver);
  return ledger.reconcile({ ...evidence, oracle: makeChainOracle(chain.rpc, chain) });
}
