import { randomUUID } from 'node:crypto';
import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import { type CheckRequested, checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { CheckResult } from '#shared/contracts/checks/result.ts';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { makeEvaluate } from '../../../services/evaluator/lanes/evaluate.ts';
import { anEvaluator } from '../../support/an-evaluator.ts';
import { aCheckRequested } from '../../support/builders/a-check-requested.ts';
import { aRule, faultProxies, grantedOf } from '../../support/fakes/chain-checks.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { connectTestKafka, testConfig } from '../../support/infrastructure/connections.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: more checks than the evaluator's window holds wait for a hanging chain, or for a block
// that is not mined, on a real broker and a real chain. Checks of other chains must not wait.

const run = randomUUID();
const HANGING = 5;
const WINDOW = 16;
/** Of each kind: together more than the window holds, and less than can be parked beside it. */
const WAITING = 20;
const aProxy = faultProxies();

const aCheck = (name: string, over: Partial<CheckRequested>): CheckRequested =>
  aCheckRequested('app_good', {
    requestId: `${name}.${run}`.slice(0, 64),
    accountId: 'acc_good',
    account: demoTokens.holder,
    rules: [aRule()],
    acceptedAt: new Date().toISOString(),
    retainUntil: new Date(Date.now() + 3_600_000).toISOString(),
    ...over,
  });

test('checks that wait for a chain delay no others, and are released at once when their evaluator stops', async () => {
  const { rpcUrl } = infrastructure();
  const proxy = await aProxy('hang');
  await using kafka = await connectTestKafka(testConfig(2));
  // None of the waiting checks ends by itself within the test.
  const never = { attemptTimeoutMs: 290_000, evaluationMsMax: 300_000 };
  await using chains = connectTestChains(
    [{ urls: [rpcUrl] }, { chainId: HANGING, urls: [proxy.url] }],
    never,
  );
  const results = new Map<string, CheckResult>();
  const begun = new Set<string>();
  const { dependencies } = anEvaluator({
    chains: chains.chains,
    async publish(_, message) {
      const { requestId, resultJson } = message as CheckCompleted;
      results.set(requestId, CheckResult.parse(JSON.parse(resultJson)));
    },
    evaluationMsMax: never.evaluationMsMax,
  });
  const handle = makeEvaluate(dependencies, 'bulk');
  const consume = (work: typeof handle) =>
    kafka.consume({
      groupId,
      topics: [checkRequestedBulk],
      window: WINDOW,
      // The topic is shared with other files.
      handle: async (check, record) => {
        if (!check.requestId.endsWith(run)) return;
        begun.add(check.requestId);
        await work(check, record);
      },
    });
  const groupId = `test.${randomUUID()}`;
  const dead = Array.from({ length: WAITING }, (_, index) =>
    aCheck(`dead${index}`, { clientId: 'app_dead', rules: [aRule({ chainId: HANGING })] }),
  );
  {
    await using _ = await consume(handle);
    const head = Number(await callJsonRpc(rpcUrl, 'eth_blockNumber', []));
    const minBlock = { '31337': head + 9 };
    const ahead = dead.map((_, index) =>
      aCheck(`ahead${index}`, { clientId: 'app_ahead', consistency: { blockTag: 'latest', minBlock } }),
    );
    for (const check of [...dead, ...ahead]) await kafka.publish(checkRequestedBulk, check);
    // They are parked one window after the other, because the window holds only so many.
    await waitUntil('all to wait', () => begun.size === dead.length + ahead.length);
    const good = dead.map((_, index) => aCheck(`good${index}`, {}));
    for (const check of good) await kafka.publish(checkRequestedBulk, check);
    await waitUntil('the others', () => good.every(({ requestId }) => results.has(requestId)));
    for (const { requestId } of good)
      expect(grantedOf(results.get(requestId) ?? { roles: [] })).toEqual([true]);
  }
  // The chain is shared too, and another file may mine the block: only the dead one is sure to stay
  // dead.
  expect(dead.filter(({ requestId }) => results.has(requestId))).toEqual([]);
  const again = new Set<string>();
  await using _ = await consume(async ({ requestId }) => void again.add(requestId));
  await waitUntil('the next owner to have them all', () =>
    dead.every(({ requestId }) => again.has(requestId)),
  );
});
