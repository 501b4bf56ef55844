// Redis is emptied, Redis dies and Kafka dies while checks of all modes arrive or are waited for.
// No acknowledged check is lost, none is acknowledged that could be lost, and no service is restarted by hand.
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { NO_FAULTS } from '../../support/judges/ledger.ts';
import { reconcileUnderLoad } from '../../support/judges/reconcile-under-load.ts';
import { openTestSystem } from '../../support/systems/open-test-system.ts';
import { type StartedSystem, startSystem } from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

let system: StartedSystem;
let open: OpenSystem;
let pids: number[];
beforeAll(async () => {
  system = await startSystem({ env: { WEBHOOK_SCHEDULE_SCALE: '0.01' } });
  open = await openTestSystem(system.environment());
  pids = servicePids();
});
afterAll(async () => {
  await open?.[Symbol.asyncDispose]();
  await system?.[Symbol.asyncDispose]();
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

/** Injects a fault under load, and keeps the load up until checks are answered again. */
const underLoad = (injectFault: () => Promise<unknown>) =>
  reconcileUnderLoad(system, async () => {
    await injectFault();
    await serves();
  });

test('a Redis that is emptied under load is rebuilt by itself and loses nothing', async () => {
  const earlier = await system.client.check(check());
  const key = { 'idempotency-key': 'before-the-flush' };
  const claimed = await system.client.check({ ...check(), async: true }, key);
  const [leftBefore, triedBefore] = [await quotaLeft(), tried];
  const { faults, counts } = await underLoad(() => open.redis.flushall());
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

test('kill -9 of Redis under load loses nothing that was acknowledged', async () => {
  const { faults } = await underLoad(() => system.kill('redis'));
  expect(faults).toEqual(NO_FAULTS);
});

test('kill -9 of Kafka under load loses nothing that was acknowledged', async () => {
  const { faults } = await underLoad(() => system.kill('kafka'));
  expect(faults).toEqual(NO_FAULTS);
});

test('a check gets 503 with Retry-After, never 202, while the broker is away, and succeeds afterwards', async () => {
  const [kafka] = system.pidsOf('kafka');
  // A frozen starter does not restart the broker.
  process.kill(system.starterPid, 'SIGSTOP');
  try {
    process.kill(kafka ?? 0, 'SIGKILL');
    const bodies = [{ async: true }, { callbackUrl: 'http://127.0.0.1:9999/' }, {}];
    const answers = await Promise.all(bodies.map((more) => system.client.check({ ...check(), ...more })));
    for (const { status, headers, body } of answers) {
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(['dependency-unavailable', 'overloaded']).toContain(body.code);
    }
  } finally {
    process.kill(system.starterPid, 'SIGCONT');
  }
  await serves();
});
