import { randomBytes, randomUUID } from 'node:crypto';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/check-completed.ts';
import type { ClientApp } from '#shared/contracts/client-app.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { makeClientApps } from '#shared/redis/client-apps.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeDeliveries } from '#shared/redis/deliveries.ts';
import { makeResults } from '#shared/redis/results.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
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
