/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Redis is emptied while checks of all modes arrive or are waited for. No acknowledged check is
// lost, and no service is restarted by hand. Redis and Kafka that die are rows F10 and F7 of
// `test/chaos`, which `npm test` runs too.
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { NO_FAULTS } from '../../support/judges/ledger.ts';
import { reconcileUnderLoad } from '../../support/judges/reconcile-under-load.ts';
import { openTestSystem } from '../../support/systems/open-test-system.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const system = sharedSystem();
let open: OpenSystem;
let pids: number[];
beforeAll(async () => {
  open = await system.use(openTestSystem(system.environment()));
  pids = servicePids();
});
// Recovery needs no restart: the service processes are the same ones afterwards.
afterEach(() => expect(servicePids()).toEqual(pids));

const servicePids = () =>
  ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher'].flatMap((name) => system.pidsOf(name));
const check = () => ({ account: system.chain.holder, rules: [demoRules(system.chain).erc20()] });
let tried = 0;
const serves = () =>
  waitUntil('a check to be answered', async () => {
    tried++;
    return (await system.client.check(check())).status === 200;
  });
/** The rest of the month's quota after a check of its own. */
const quotaLeft = async (): Promise<number> => {
  const { headers } = await system.client.check(check());
  return Number(/"per-month";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
};

test('a Redis that is emptied under load is rebuilt by itself and loses nothing', async () => {
  const earlier = await system.client.check(check());
  const key = { 'idempotency-key': 'before-the-flush' };
  const claimed = await system.client.check({ ...check(), async: true }, key);
  const [leftBefore, triedBefore] = [await quotaLeft(), tried];
  const { faults, counts } = await reconcileUnderLoad(system, async () => {
    await open.redis.flushall();
    await serves();
  });
  expect(faults).toEqual(NO_FAULTS);
  expect(counts.undetermined).toBe(0);

  // The charges are neither forgotten nor repeated.
  const charged = leftBefore - (await quotaLeft()) - 1;
  expect(charged).toBeGreaterThanOrEqual(counts.acknowledged);
  expect(charged).toBeLessThanOrEqual(counts.acknowledged + counts.indeterminate + tried - triedBefore);
  // An idempotency claim survives the wipe: a repeated request is the same request.
  const replayed = await system.client.check({ ...check(), async: true }, key);
  expect(replayed.headers.get('idempotency-replayed')).toBe('true');
  expect(replayed.body).toEqual(claimed.body);
  const again = await system.client.poll(earlier.body.requestId ?? '');
  expect(again.text).toBe(earlier.text);
});

test('an operator can start a rebuild of the views', async () => {
  const earlier = await system.client.checkAndWait(check());
  const rebuilt = await system.admin('store', 'rebuild');
  expect(rebuilt).toMatchObject({ exitCode: 0, value: { rebuilt: expect.anything() } });
  await serves();
  expect((await system.client.poll(earlier.body.requestId ?? '')).text).toBe(earlier.text);
});
