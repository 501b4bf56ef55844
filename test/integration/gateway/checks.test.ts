import { randomUUID } from 'node:crypto';
import { type CheckRequested, LANES } from '#shared/contracts/checks/check-requested.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { type Admitter, makeAdmitter } from '#shared/stores/checks/admit.ts';
import { makeResults, type Results } from '#shared/stores/checks/results.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  A_LOCAL_CHECK,
  responsePath,
  startGateway,
  type TestApp,
  testGateways,
} from '../../support/systems/start-gateway.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two real gateway processes before a real Kafka and a real Redis. The test itself plays
// the evaluator and the result-store, so that it decides when, and whether, a check is answered.

/** On a busy machine the test takes seconds to play its parts. */
const PATIENT = { SYNC_DEADLINE_MS: '25000' };

const stores = testStores(5);
let results: Results;
let admitter: Admitter;
const { gateways, anApp } = testGateways(stores, PATIENT);
const seen: CheckRequested[] = [];
/** Apps whose checks are left unanswered. */
const silent = new Set<string>();

const resultOf = ({ requestId, rules, acceptedAt }: CheckRequested): string =>
  JSON.stringify({
    requestId,
    status: 'completed',
    roles: rules.map(({ roleId }) => ({ id: roleId, granted: true })),
    errors: [],
    evaluatedAt: acceptedAt,
    blocks: {},
  });

async function answer(message: CheckRequested): Promise<void> {
  const { requestId, acceptedAt, retainUntil, delivery } = message;
  await results.saveIfAbsent({
    requestId,
    resultJson: resultOf(message),
    acceptedAtMs: Date.parse(acceptedAt),
    retainUntil: Date.parse(retainUntil),
    ...(delivery.mode === 'sync' && { replyChannel: delivery.replyChannel }),
  });
}

const checksOf = (app: TestApp) => seen.filter(({ clientId }) => clientId === app.document.clientId);
/** A check may be published again under its id. */
const idsSeenOf = (app: TestApp) => new Set(checksOf(app).map(({ requestId }) => requestId));
const idOf = async (response: Response): Promise<string> =>
  ((await response.json()) as { requestId: string }).requestId;

beforeAll(async () => {
  results = makeResults(stores.redis);
  admitter = makeAdmitter(stores.redis, Date.now);
  await stores.use(
    stores.kafka.consume({
      groupId: `test.${randomUUID()}`,
      topics: [LANES.interactive, LANES.bulk],
      window: 100,
      handle: async (message) => {
        seen.push(message);
        if (!silent.has(message.clientId)) await answer(message);
      },
    }),
  );
});

describe('the gateway before a real Kafka and Redis', () => {
  it('answers a sync check with its result, which can be polled as the same bytes from another gateway', async () => {
    const app = await anApp();
    const response = await gateways[0].post(app, A_LOCAL_CHECK);
    expect(response.status).toBe(200);
    const text = await response.text();
    const [message] = checksOf(app);
    expect(text).toBe(resultOf(message as CheckRequested));
    const poll = await gateways[1].get(app, responsePath(message?.requestId ?? ''));
    expect(await poll.text()).toBe(text);
  });

  it('accepts an asynchronous check and answers it in a long poll', async () => {
    const app = await anApp();
    const accepted = await gateways[0].post(app, { ...A_LOCAL_CHECK, async: true });
    expect(accepted.status).toBe(202);
    const requestId = await idOf(accepted);
    const poll = await gateways[1].get(app, responsePath(requestId), { prefer: 'wait=20' });
    expect(poll.status).toBe(200);
    expect(await poll.json()).toMatchObject({ requestId, status: 'completed' });
  });

  it('stops serving a suspended app when the change is announced', async () => {
    const app = await anApp();
    expect((await gateways[0].get(app, '/access-control/chains')).status).toBe(200);
    await makeClientApps(stores.redis).project({ ...app.document, version: 2, suspended: true });
    await waitUntil(
      'the suspension',
      async () => (await gateways[0].get(app, '/access-control/chains')).status === 403,
      // Without the announcement it would take 30 s.
      20_000,
    );
  });

  it('turns 50 parallel equal requests with one idempotency key into one check, over two gateways', async () => {
    const app = await anApp();
    const headers = { 'idempotency-key': randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        waitUntil('the check to be published', async () => {
          const gateway = gateways[index % 2 === 0 ? 0 : 1];
          const response = await gateway.post(app, { ...A_LOCAL_CHECK, async: true }, headers);
          // The broker of a busy machine takes longer than a repetition waits.
          return response.status !== 409 && response;
        }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(202));
    const ids = new Set(await Promise.all(answers.map(idOf)));
    expect(ids.size).toBe(1);
    const replays = answers.filter((response) => response.headers.get('idempotency-replayed') === 'true');
    expect(replays).toHaveLength(49);
    await waitUntil('the check', () => checksOf(app).length > 0);
    expect(idsSeenOf(app)).toEqual(ids);
    const other = await gateways[0].post(
      app,
      { ...A_LOCAL_CHECK, async: true, onUndetermined: 'deny' },
      headers,
    );
    expect(other.status).toBe(422);
    expect(await other.json()).toMatchObject({ code: 'idempotency-key-reused' });
  });

  it('replays the stored result of a sync check, and refuses a repetition while the first still runs', async () => {
    const app = await anApp();
    silent.add(app.document.clientId);
    const headers = { 'idempotency-key': 'one' };
    const first = gateways[0].post(app, A_LOCAL_CHECK, headers);
    const [message] = await waitUntil('the check', () => checksOf(app).length > 0 && checksOf(app));
    const second = await gateways[1].post(app, A_LOCAL_CHECK, headers);
    expect(second.status).toBe(409);
    expect(second.headers.get('retry-after')).toBe('1');
    await answer(message as CheckRequested);
    const text = await (await first).text();
    const replay = await gateways[1].post(app, A_LOCAL_CHECK, { 'idempotency-key': '"one"' });
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    expect(await replay.text()).toBe(text);
    expect(checksOf(app)).toHaveLength(1);
  });

  it('runs a new check when a sync check that ended in 504 is retried', async () => {
    await using brief = await startGateway(stores.config, { SYNC_DEADLINE_MS: '3000' });
    const app = await anApp();
    silent.add(app.document.clientId);
    const headers = { 'idempotency-key': 'two' };
    const ids = new Set<string>();
    const check = async () => {
      const response = await brief.post(app, A_LOCAL_CHECK, headers);
      if (response.status === 200 || response.status === 504) ids.add(await idOf(response));
      return response.status;
    };
    expect(await check()).toBe(504);
    silent.delete(app.document.clientId);
    await waitUntil('the retry to be answered in time', async () => (await check()) === 200);
    expect(ids.size).toBeGreaterThan(1);
    await waitUntil('every check', () => idsSeenOf(app).size >= ids.size);
    expect(idsSeenOf(app)).toEqual(ids);
  });

  it('publishes a check again, under the same id, that a gateway claimed and never published', async () => {
    const app = await anApp();
    const { clientId, accountId, limits } = app.document;
    const key = 'three';
    const first = await gateways[0].post(app, { ...A_LOCAL_CHECK, async: true }, { 'idempotency-key': key });
    const requestId = await idOf(first);
    const [claim] = await stores.redis.keys(`claim:{${clientId}}:*`);
    // The gateway marks the claim after its answer.
    const stateOf = () => stores.redis.hget(claim ?? '', 'state');
    await waitUntil('the mark as published', async () => (await stateOf()) === 'published');
    // The state that a gateway leaves when it dies before the broker acknowledges; it stays young
    // for the first retry.
    const later = String(Date.now() + 3_600_000);
    await stores.redis.hset(claim ?? '', 'state', 'claimed', 'touched', later);
    await stores.redis.hdel(claim ?? '', 'id');
    const at = await gateways[1].post(app, { ...A_LOCAL_CHECK, async: true }, { 'idempotency-key': key });
    expect(at.status).toBe(409);
    await stores.redis.hset(claim ?? '', 'touched', '0');
    const retry = await gateways[1].post(app, { ...A_LOCAL_CHECK, async: true }, { 'idempotency-key': key });
    expect(retry.status).toBe(202);
    expect(await idOf(retry)).toBe(requestId);
    await waitUntil('the second copy', () => checksOf(app).length === 2);
    const { remaining } = (
      await admitter.admit({
        clientId,
        accountId,
        limits,
        bucket: 'per-second',
      })
    ).month ?? { remaining: 0 };
    expect(limits.requestsPerMonth - remaining).toBe(1);
  });

  it.each([
    ['only its first owner has used is dropped, and the next request begins anew', false, 'fresh'],
    ['a retry has taken over is kept by that retry', true, 'claimed'],
  ] as const)('an idempotency claim that %s', async (_, isTakenOver, next) => {
    const { document } = await anApp();
    const { clientId, accountId, limits } = document;
    const keyHash = randomUUID();
    const admit = (seed: string) =>
      admitter.admit({
        ...{ clientId, accountId, limits, bucket: 'per-second' },
        check: { seed, claim: { keyHash, bodyHash: 'body' } },
      });
    expect((await admit('first')).outcome).toBe('fresh');
    const claim = `claim:{${clientId}}:${keyHash}`;
    expect(await stores.redis.exists(claim)).toBe(1);
    if (isTakenOver) {
      // As if it was claimed long ago: within one millisecond a retry's claim would look like the
      // first.
      await stores.redis.hset(claim, 'at', '0', 'touched', '0');
      expect((await admit('second')).outcome).toBe('taken-over');
    }
    expect(await admitter.dropClaim({ clientId, keyHash, seed: 'first' })).toBe(!isTakenOver);
    expect((await admit('third')).outcome).toBe(next);
    // The claim is another check's now, or still the retry's.
    expect(await admitter.dropClaim({ clientId, keyHash, seed: 'other' })).toBe(false);
    expect(await stores.redis.exists(claim)).toBe(1);
  });

  it('a check whose claim was lost with Redis keeps its charge, because a retry may have published it', async () => {
    const { document } = await anApp();
    const claim = { clientId: document.clientId, keyHash: randomUUID(), seed: 'first' };
    expect(await admitter.dropClaim(claim)).toBe(false);
  });

  it('answers 503 while the views are being rebuilt, and recovers by itself', async () => {
    const app = await anApp();
    expect((await gateways[0].post(app, { ...A_LOCAL_CHECK, async: true })).status).toBe(202);
    await stores.redis.del(GENERATION_KEY);
    const response = await gateways[0].post(app, { ...A_LOCAL_CHECK, async: true });
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).not.toBeNull();
    expect(await response.json()).toMatchObject({ code: 'dependency-unavailable' });
    await stores.redis.set(GENERATION_KEY, 'test');
    expect((await gateways[0].post(app, { ...A_LOCAL_CHECK, async: true })).status).toBe(202);
  });

  it('answers long polls at once, finishes sync checks and exits 0 on SIGTERM', async () => {
    const app = await anApp();
    silent.add(app.document.clientId);
    const gateway = await startGateway(stores.config, { ...PATIENT, SHUTDOWN_TIMEOUT_MS: '60000' });
    const requestId = await idOf(await gateway.post(app, { ...A_LOCAL_CHECK, async: true }));
    const longPoll = gateway.get(app, responsePath(requestId), { prefer: 'wait=25' });
    const sync = gateway.post(app, A_LOCAL_CHECK);
    const message = await waitUntil('the sync check', () =>
      checksOf(app).find(({ delivery }) => delivery.mode === 'sync'),
    );
    gateway.process.child.kill('SIGTERM');
    expect((await longPoll).status).toBe(202);
    await answer(message);
    expect((await sync).status).toBe(200);
    expect(await gateway.process.exited).toBe(0);
  });
});
