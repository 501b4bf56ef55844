import { randomBytes, randomUUID } from 'node:crypto';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/check-completed.ts';
import type { ClientApp } from '#shared/contracts/client-app.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import {
  type WebhookAttempted,
  type WebhookRetry,
  webhookAttempted,
  webhookRequested,
  webhookRetry,
} from '#shared/contracts/webhook.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import { makeClientApps } from '#shared/redis/client-apps.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeDeliveries } from '#shared/redis/deliveries.ts';
import { makeResults } from '#shared/redis/results.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { makeResendWebhooks } from '#shared/webhooks/resend-webhooks.ts';
import { connectTestKafka, connectTestRedis, testConfig } from '../support/connections.ts';
import { type ReceivedWebhook, receiveWebhooks, type WebhookReceiver } from '../support/receive-webhooks.ts';
import { type SpawnedProcess, spawnNode } from '../support/spawn-process.ts';
import { waitUntil } from '../support/wait-until.ts';

// Scenario: a real dispatcher process between a real Kafka, a real Redis and receivers on loopback; its schedule
// is a thousandth of the true one. The test publishes completed checks and looks at what arrives.

const REDIS_DATABASE = 7;
const SECRET_KEYS = `1:${randomBytes(32).toString('base64')}`;
const SECRET = `whsec_${randomBytes(32).toString('base64')}`;

let kafka: KafkaConnection;
let store: RedisConnection;
let receiver: WebhookReceiver;
let dispatcher: SpawnedProcess;

const clientId = `app_${randomUUID()}`;
const later = () => new Date(Date.now() + 3_600_000).toISOString();

const aWebhookCheck = (callbackUrl: string, over: Partial<CheckCompleted> = {}): CheckCompleted => {
  const requestId = randomUUID();
  return {
    requestId,
    clientId,
    delivery: { mode: 'webhook', callbackUrl },
    acceptedAt: new Date().toISOString(),
    retainUntil: later(),
    decided: true,
    resultJson: JSON.stringify({ requestId, status: 'completed', roles: [], errors: [] }),
    ...over,
  };
};

const aRetryOf = (check: CheckCompleted, over: Partial<WebhookRetry> = {}): WebhookRetry => ({
  requestId: check.requestId,
  clientId,
  callbackUrl: receiver.url,
  resultJson: check.resultJson,
  acceptedAt: check.acceptedAt,
  retainUntil: check.retainUntil,
  attemptCount: 0,
  asideCount: 0,
  dueAt: new Date().toISOString(),
  chain: 0,
  ...over,
});

const resendWebhooks = () =>
  makeResendWebhooks({
    deliveries: makeDeliveries(store.redis),
    results: makeResults(store.redis),
    publish: (message) => kafka.publish(webhookRequested, message),
    now: Date.now,
  });

const anApp = (): ClientApp => ({
  clientId,
  version: 1,
  accountId: 'acc_1',
  name: 'receiver',
  scope: 'approved',
  suspended: false,
  limits: { tier: 'free', requestsPerSecond: 10, requestsPerMonth: 10_000 },
  keys: [],
  webhookSecrets: [
    {
      encrypted: makeSecretBox(parseKeyRing(SECRET_KEYS)).seal(SECRET, clientId),
      createdAt: new Date().toISOString(),
    },
  ],
  createdAt: new Date().toISOString(),
});

function startDispatcher(): SpawnedProcess {
  const config = testConfig(REDIS_DATABASE);
  return spawnNode(['services/webhook-dispatcher/main.ts'], {
    KAFKA_BROKERS: config.kafka.brokers.join(','),
    KAFKA_SESSION_TIMEOUT_MS: '3000',
    KAFKA_HEARTBEAT_INTERVAL_MS: '500',
    REDIS_URL: config.redis.url,
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
    ROLECALL_SECRET_KEYS: SECRET_KEYS,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_SCHEDULE_SCALE: '0.001',
  });
}

const isReady = (spawned: SpawnedProcess) => () => {
  if (spawned.child.exitCode !== null)
    throw new Error(`the dispatcher ended: ${spawned.stderr()}${spawned.stdout()}`);
  return spawned.stdout().includes('"msg":"ready"');
};

const of = (check: CheckCompleted) => (webhook: ReceivedWebhook) => webhook.requestId === check.requestId;
const received = (check: CheckCompleted) => receiver.deliveries.filter(of(check));
const stateOf = async (check: CheckCompleted) =>
  (await makeDeliveries(store.redis).read(check.requestId))?.state;

beforeAll(async () => {
  const config = testConfig(REDIS_DATABASE);
  store = await connectTestRedis(config);
  await store.redis.set(GENERATION_KEY, 'test');
  await makeClientApps(store.redis).project(anApp());
  kafka = await connectTestKafka(config);
  receiver = await receiveWebhooks({ secret: SECRET });
  dispatcher = startDispatcher();
  await waitUntil('the dispatcher to be ready', isReady(dispatcher));
});

afterAll(async () => {
  await dispatcher[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await kafka[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});

beforeEach(() => receiver.setAnswer(204));

test('a webhook carries the stored bytes, verifies with a stock library, and its result can be polled by then', async () => {
  const check = aWebhookCheck(receiver.url);
  const stored: (string | undefined)[] = [];
  receiver.setAnswer(async ({ requestId }) => {
    stored.push(await makeResults(store.redis).read(requestId));
    return 204;
  });
  await kafka.publish(checkCompleted, check);
  const webhook = await receiver.waitFor(of(check));
  expect(webhook).toMatchObject({
    verified: true,
    body: check.resultJson,
    id: `msg_${check.requestId}`,
    attempt: 1,
  });
  expect(webhook.headers).toMatchObject({ 'content-type': 'application/json' });
  expect(webhook.headers['user-agent']).toMatch(/^Rolecall\/\d+\.\d+\.\d+$/);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(stored).toEqual([check.resultJson]);
});

test('the first stored result is what is sent, whatever the record says', async () => {
  const check = aWebhookCheck(receiver.url);
  const { requestId } = check;
  const resultJson = JSON.stringify({ requestId, status: 'failed', roles: [], errors: [] });
  await makeResults(store.redis).saveIfAbsent({ requestId, resultJson, retainUntil: Date.now() + 60_000 });
  await kafka.publish(checkCompleted, check);
  expect((await receiver.waitFor(of(check))).body).toBe(resultJson);
});

test('two records of one check make one delivery with one body', async () => {
  const check = aWebhookCheck(receiver.url);
  const second = { ...check, resultJson: '{"other":true}' };
  await kafka.publish(checkCompleted, check);
  await kafka.publish(checkCompleted, second);
  const after = aWebhookCheck(receiver.url);
  await receiver.waitFor(of(check));
  await kafka.publish(checkCompleted, after);
  await receiver.waitFor(of(after));
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ body }) => body)).toEqual([check.resultJson]);
});

test('a failed attempt is made again with the same id and bytes until the receiver takes it', async () => {
  const check = aWebhookCheck(receiver.url);
  receiver.setAnswer(({ requestId, attempt }) => (requestId === check.requestId && attempt < 3 ? 500 : 200));
  await kafka.publish(checkCompleted, check);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const webhooks = received(check);
  expect(webhooks.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  expect(new Set(webhooks.map(({ body, id }) => `${id} ${body}`)).size).toBe(1);
  expect(webhooks.every(({ verified }) => verified === true)).toBe(true);
  const view = await makeDeliveries(store.redis).read(check.requestId);
  expect(view?.attempts.map((each) => [each.attempt, each.status, each.class])).toEqual([
    [1, 500, 'http-5xx'],
    [2, 500, 'http-5xx'],
    [3, 200, 'delivered'],
  ]);
});

test('a 410 stops: it is not attempted again', async () => {
  const check = aWebhookCheck(receiver.url);
  receiver.setAnswer(410);
  await kafka.publish(checkCompleted, check);
  await waitUntil('the stopped state', async () => (await stateOf(check)) === 'stopped');
  expect(received(check)).toHaveLength(1);
  const failed = await makeDeliveries(store.redis).failedSince(clientId, 0);
  expect(failed).toContain(check.requestId);
});

test('after the eighth attempt a delivery is exhausted, and can be sent again: same id, same bytes', async () => {
  const check = aWebhookCheck(receiver.url);
  await makeResults(store.redis).saveIfAbsent({
    requestId: check.requestId,
    resultJson: check.resultJson,
    retainUntil: Date.now() + 600_000,
  });
  receiver.setAnswer(500);
  await kafka.publish(webhookRetry['10h'], aRetryOf(check, { attemptCount: 7 }));
  await waitUntil('the exhausted state', async () => (await stateOf(check)) === 'exhausted');
  expect(received(check).map(({ attempt }) => attempt)).toEqual([8]);

  receiver.setAnswer(204);
  const { resendFailed } = resendWebhooks();
  expect(await resendFailed(clientId, Date.now() + 60_000)).toEqual({ count: 0 });
  expect((await resendFailed(clientId, 0)).count).toBeGreaterThanOrEqual(1);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ attempt, id, body }) => [attempt, id, body])).toEqual([
    [8, `msg_${check.requestId}`, check.resultJson],
    [1, `msg_${check.requestId}`, check.resultJson],
  ]);
  expect(await makeDeliveries(store.redis).failedSince(clientId, 0)).not.toContain(check.requestId);
});

test('a resend supersedes the retries that are under way', async () => {
  const check = aWebhookCheck(receiver.url);
  const hourScaled = { 'retry-after': '3600' };
  receiver.setAnswer((_, response) => void response.writeHead(503, hourScaled).end());
  await kafka.publish(checkCompleted, check);
  await waitUntil(
    'the first attempt',
    async () => (await stateOf(check)) === 'pending' && received(check).length === 1,
  );
  receiver.setAnswer(204);
  await waitUntil('a resend', () =>
    resendWebhooks()
      .resend(check.requestId)
      .catch(() => undefined),
  );
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  // The first chain's next record, read early: it is dropped.
  const after = aWebhookCheck(receiver.url);
  await kafka.publish(webhookRetry['5s'], aRetryOf(check, { attemptCount: 1 }));
  await kafka.publish(checkCompleted, after);
  await receiver.waitFor(of(after));
  expect(received(check)).toHaveLength(2);
});

test('a malformed retry record is dead-lettered, and those behind it are worked', async () => {
  const topic = webhookRetry['5s'];
  const check = aWebhookCheck(receiver.url);
  await kafka.publishRecord(topic.name, { key: check.requestId, value: '{"requestId":1}' });
  await kafka.publish(topic, aRetryOf(check));
  await receiver.waitFor(of(check));
  const letters = await listDeadLetters(kafka, topic.name);
  expect(letters.filter(({ key }) => key === check.requestId)).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: 'message-unreadable' }) }),
  ]);
});

test('receivers that hang do not hold the others up', async () => {
  await using hanging = await receiveWebhooks({ answer: () => undefined });
  const checks = Array.from({ length: 400 }, (_, i) => aWebhookCheck(i % 2 ? hanging.url : receiver.url));
  await Promise.all(checks.map((check) => kafka.publish(checkCompleted, check)));
  const healthy = checks.filter((_, i) => i % 2 === 0);
  await waitUntil('the healthy half', () => healthy.every((check) => received(check).length > 0));
  // The hanging one has at most its eight slots.
  expect(hanging.deliveries.length).toBeLessThanOrEqual(8);
});

test('the view of deliveries comes back from the attempt log', async () => {
  const check = aWebhookCheck(receiver.url);
  receiver.setAnswer(({ attempt }) => (attempt === 1 ? 500 : 200));
  await kafka.publish(checkCompleted, check);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const deliveries = makeDeliveries(store.redis);
  const before = await deliveries.read(check.requestId);
  const attempted: WebhookAttempted[] = [];
  await kafka.readTopic({
    topic: webhookAttempted.name,
    apply: async (records) => {
      for (const { key, value } of records)
        if (key?.toString() === check.requestId) attempted.push(parseMessage(webhookAttempted, value));
    },
  });
  await store.redis.del(`webhook:${check.requestId}`);
  for (const each of [...attempted, ...attempted]) await deliveries.record(each);
  const { acceptedAt: _, ...kept } = before ?? {};
  expect(await deliveries.read(check.requestId)).toMatchObject(kept);
});

test('an address that is not allowed is never dialled, and the delivery is retried on schedule', async () => {
  const check = aWebhookCheck('http://10.0.0.1:9/');
  await kafka.publish(checkCompleted, check);
  const view = await waitUntil('two attempts', async () => {
    const found = await makeDeliveries(store.redis).read(check.requestId);
    return found && found.attempts.length >= 2 && found;
  });
  expect(view.attempts[0]).toMatchObject({ class: 'address-refused', status: null });
});

test('kill -9 in mid-attempt loses nothing: the next process sends the same id and the same bytes', async () => {
  const check = aWebhookCheck(receiver.url);
  // Never answers, so that the kill comes between the receiver's work and the commit.
  receiver.setAnswer(() => undefined);
  await kafka.publish(checkCompleted, check);
  await receiver.waitFor(of(check));
  await dispatcher.kill('SIGKILL');
  receiver.setAnswer(204);
  dispatcher = startDispatcher();
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const webhooks = received(check);
  expect(webhooks.length).toBe(2);
  expect(new Set(webhooks.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
});

test('SIGTERM lets the attempts in hand end and exits 0', async () => {
  await waitUntil('the dispatcher to be ready', isReady(dispatcher));
  const check = aWebhookCheck(receiver.url);
  const arrived = Promise.withResolvers<void>();
  const go = Promise.withResolvers<number>();
  receiver.setAnswer(() => {
    arrived.resolve();
    return go.promise;
  });
  await kafka.publish(checkCompleted, check);
  await arrived.promise;
  const exit = dispatcher.kill('SIGTERM');
  go.resolve(200);
  expect(await exit).toBe(0);
  expect(await stateOf(check)).toBe('delivered');
  expect(received(check)).toHaveLength(1);
});
