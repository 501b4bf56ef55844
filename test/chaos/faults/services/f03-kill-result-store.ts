import { setTimeout as delay } from 'node:timers/promises';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { demoRules } from '../../../support/builders/demo-rules.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import type { Fault, Scene } from '../../fault.ts';
import { lagOf } from '../../judges/lag-of.ts';
import { atMost } from '../../judges/measure.ts';

const BACKLOG = 10_000;
const CLIENTS = 64;
/** When to kill within the backlog, so that the second kill hits a batch. */
const MID_BATCH_MS = 300;
/** The lag that the load itself causes. */
const CAUGHT_UP_LAG = 100;
const TIMEOUT_MS = 240_000;

export const f03KillResultStore: Fault = {
  id: 'F3',
  title: 'kill -9 result-store mid-batch',
  async run(scene) {
    const { system } = scene;
    system.gates.hold('result-store');
    system.signal('result-store', 'SIGKILL');
    await sendBacklog(scene);
    const lag = () => lagOf(system, CONSUMER_GROUPS.results, checkCompleted.name);
    const backlog = await waitUntil(
      'the backlog',
      async () => {
        const waiting = await lag();
        return waiting >= BACKLOG && waiting;
      },
      TIMEOUT_MS,
    );
    system.gates.release('result-store');
    await system.waitUntilReady();
    await delay(MID_BATCH_MS);
    system.signal('result-store', 'SIGKILL');
    const killedAt = performance.now();
    await waitUntil('the backlog to be gone', async () => (await lag()) < CAUGHT_UP_LAG, TIMEOUT_MS);
    const tookS = (performance.now() - killedAt) / 1_000;
    return () => ({ figures: [atMost(`backlog of ${backlog} caught up`, tookS, 30, 's')] });
  },
};

/** Sends checks of the same client as fast as the gateways accept them, recorded in the ledger. */
async function sendBacklog({ system, ledger, client }: Scene): Promise<void> {
  const { erc20 } = demoRules(system.chain);
  const account = system.chain.holder;
  let left = BACKLOG;
  const sendNext = async (): Promise<void> => {
    while (left-- > 0) {
      const attempt = ledger.begin('poll', account, (roleId) => [erc20({ roleId })]);
      try {
        ledger.end(attempt, await client.check({ account, rules: attempt.rules, async: true }));
      } catch {
        ledger.cut(attempt);
      }
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, sendNext));
}
