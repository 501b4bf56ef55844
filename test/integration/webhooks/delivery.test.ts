import { parseMessage } from '#shared/contracts/topic.ts';
import {
  type NewWebhook,
  type WebhookAttempted,
  type WebhookRetry,
  webhookAttempted,
  webhookRequested,
  webhookRetry,
} from '#shared/contracts/webhooks/webhook.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import type { TopicRecord } from '#shared/kafka/read-topic.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeResults, savingOf } from '#shared/stores/checks/results.ts';
import { makeResendWebhooks } from '#shared/stores/webhooks/resend-webhooks.ts';
import { makeWebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';
import {
  type ReceivedWebhook,
  receiveWebhooks,
  type WebhookReceiver,
} from '../../support/fakes/receive-webhooks.ts';
import type { SpawnedProcess } from '../../support/systems/spawn-process.ts';
import {
  startWebhookFixture,
  untilReady,
  type WebhookFixture,
} from '../../support/systems/webhook-fixture.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a real dispatcher process between a real Kafka, a real Redis and receivers on loopback,
// with its schedule scaled to a thousandth. The test publishes completed checks and looks at the
// requests that arrive.

let fixture: WebhookFixture;
let receiver: WebhookReceiver;
let dispatcher: SpawnedProcess;
let opsPort: number;

const aRetryOf = (check: NewWebhook, over: Partial<WebhookRetry> = {}): WebhookRetry => ({
  requestId: check.requestId,
  clientId: fixture.clientId,
  accountId: check.accountId,
  callbackUrl: receiver.url,
  acceptedAt: check.acceptedAt,
  retainUntil: check.retainUntil,
  attemptCount: 0,
  deferralCount: 0,
  dueAt: new Date().toISOString(),
  resendCount: 0,
  ...over,
});

const resendWebhooks = () =>
  makeResendWebhooks({
    clientApps: makeClientApps(fixture.redis),
    deliveries: fixture.deliveries,
    webhookBodies: makeWebhookBodies(fixture.redis),
    publish: (message) => fixture.kafka.publish(webhookRequested, message),
    countBytes: () => undefined,
    now: Date.now,
  });

const of = (check: NewWebhook) => (webhook: ReceivedWebhook) => webhook.requestId === check.requestId;
const received = (check: NewWebhook) => receiver.deliveries.filter(of(check));
const stateOf = async (check: NewWebhook) => (await fixture.deliveries.read(check.requestId))?.state;
const publish = (check: NewWebhook) => fixture.kafka.publish(webhookRequested, check);

beforeAll(async () => {
  fixture = await startWebhookFixture(7);
  receiver = await receiveWebhooks({ secret: fixture.secret });
  // So long that no attempt at a hanging receiver ends during its test.
  dispatcher = fixture.startDispatcher({ WEBHOOK_ATTEMPT_TIMEOUT_MS: '60000' });
  opsPort = await untilReady(dispatcher);
});

afterAll(async () => {
  await dispatcher[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await fixture[Symbol.asyncDispose]();
});

beforeEach(() => receiver.setAnswer(204));

test('a webhook carries the stored bytes, verifies with a stock library, and its result can already be polled', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  const stored: (string | undefined)[] = [];
  receiver.setAnswer(async ({ requestId }) => {
    stored.push(await makeResults(fixture.redis).read(requestId));
    return 204;
  });
  await publish(check);
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

test('the webhook carries the first stored result, whatever the record says', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  const { requestId } = check;
  const resultJson = JSON.stringify({ requestId, status: 'failed', roles: [], errors: [] });
  await makeResults(fixture.redis).saveIfAbsent({
    ...{ requestId, resultJson },
    ...{ acceptedAtMs: Date.now(), retainUntil: Date.now() + 60_000 },
  });
  await publish(check);
  expect((await receiver.waitFor(of(check))).body).toBe(resultJson);
});

test('two records of one check make one delivery with one body', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  const second = { ...check, resultJson: '{"other":true}' };
  await publish(check);
  await publish(second);
  const after = fixture.aWebhookCheck(receiver.url);
  await receiver.waitFor(of(check));
  await publish(after);
  await receiver.waitFor(of(after));
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ body }) => body)).toEqual([check.resultJson]);
});

test('a failed attempt is repeated with the same id and bytes until the receiver accepts it', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  receiver.setAnswer(({ requestId, attempt }) => (requestId === check.requestId && attempt < 3 ? 500 : 200));
  await publish(check);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const webhooks = received(check);
  expect(webhooks.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  expect(new Set(webhooks.map(({ body, id }) => `${id} ${body}`)).size).toBe(1);
  expect(webhooks.every(({ verified }) => verified === true)).toBe(true);
  const view = await fixture.deliveries.read(check.requestId);
  expect(view?.attempts.map((each) => [each.attempt, each.status, each.class])).toEqual([
    [1, 500, 'http-5xx'],
    [2, 500, 'http-5xx'],
    [3, 200, 'delivered'],
  ]);
});

/** The values of the tiers' records of one webhook. */
async function readTierRecords(requestId: string): Promise<string[]> {
  const values: string[] = [];
  const apply = async (records: readonly TopicRecord[]) => {
    for (const { key, value } of records) if (`${key}` === requestId) values.push(`${value}`);
  };
  await Promise.all(
    Object.values(webhookRetry).map(({ name }) => fixture.kafka.readTopic({ topic: name, apply })),
  );
  return values;
}

test('a webhook outlives the retention of its result, whose bytes are then deleted', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  const retainedUntilMs = Date.now() + 1_000;
  // The fourth attempt comes more than 2 s after the first.
  receiver.setAnswer(({ requestId, attempt }) => (requestId === check.requestId && attempt < 4 ? 500 : 200));
  await publish({ ...check, retainUntil: new Date(retainedUntilMs).toISOString() });
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const webhooks = received(check);
  expect(webhooks.at(-1)?.atMs).toBeGreaterThan(retainedUntilMs);
  expect(new Set(webhooks.map(({ body }) => body))).toEqual(new Set([check.resultJson]));
  expect(await makeResults(fixture.redis).read(check.requestId)).toBeUndefined();
});

test('a webhook whose retention has ended before its first attempt is retried with its body', async () => {
  const check = { ...fixture.aWebhookCheck(receiver.url), retainUntil: '2026-11-21T10:00:00.000Z' };
  receiver.setAnswer(({ requestId, attempt }) => (requestId === check.requestId && attempt < 2 ? 500 : 200));
  await publish(check);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ body }) => body)).toEqual([check.resultJson, check.resultJson]);
});

test('the retry of a webhook near the largest message is small, and sends the whole body again', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  const resultJson = JSON.stringify({ requestId: check.requestId, text: 'x'.repeat(4_120_000) });
  receiver.setAnswer(({ requestId, attempt }) => (requestId === check.requestId && attempt < 2 ? 500 : 200));
  await publish({ ...check, resultJson });
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ body }) => body === resultJson)).toEqual([true, true]);
  const [record, ...others] = await readTierRecords(check.requestId);
  expect(others).toEqual([]);
  expect(record?.length).toBeLessThan(600);
});

test('an event brings its body once: it is stored, retried and resent by its id', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  receiver.setAnswer(({ requestId, attempt }) => (requestId === check.requestId && attempt < 2 ? 500 : 200));
  const event = { ...aRetryOf(check), resultJson: '{"type":"test"}' };
  await fixture.kafka.publish(webhookRequested, event);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(await makeResults(fixture.redis).read(check.requestId)).toBe(event.resultJson);
  receiver.setAnswer(204);
  await resendWebhooks().resend(check.requestId);
  await waitUntil('the resend', () => received(check).length === 3);
  expect(new Set(received(check).map(({ body }) => body))).toEqual(new Set([event.resultJson]));
});

test('a 410 stops a delivery until all failed deliveries are resent', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  receiver.setAnswer(410);
  await publish(check);
  await waitUntil('the stopped state', async () => (await stateOf(check)) === 'stopped');
  expect(received(check)).toHaveLength(1);
  const failed = await fixture.deliveries.failedSince(fixture.clientId, 0);
  expect(failed).toContain(check.requestId);
  receiver.setAnswer(204);
  expect((await resendWebhooks().resendFailed(fixture.clientId, 0)).count).toBeGreaterThanOrEqual(1);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ id, body }) => [id, body])).toEqual([
    [`msg_${check.requestId}`, check.resultJson],
    [`msg_${check.requestId}`, check.resultJson],
  ]);
});

test('a delivery is exhausted after its eighth attempt, and can be resent with the same id and the same bytes', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  await makeResults(fixture.redis).saveIfAbsent({
    requestId: check.requestId,
    resultJson: check.resultJson,
    acceptedAtMs: Date.now(),
    retainUntil: Date.now() + 600_000,
  });
  receiver.setAnswer(500);
  await fixture.kafka.publish(webhookRetry['10h'], aRetryOf(check, { attemptCount: 7 }));
  await waitUntil('the exhausted state', async () => (await stateOf(check)) === 'exhausted');
  expect(received(check).map(({ attempt }) => attempt)).toEqual([8]);

  receiver.setAnswer(204);
  const { resendFailed } = resendWebhooks();
  expect(await resendFailed(fixture.clientId, Date.now() + 60_000)).toEqual({ count: 0 });
  expect((await resendFailed(fixture.clientId, 0)).count).toBeGreaterThanOrEqual(1);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  expect(received(check).map(({ attempt, id, body }) => [attempt, id, body])).toEqual([
    [8, `msg_${check.requestId}`, check.resultJson],
    [1, `msg_${check.requestId}`, check.resultJson],
  ]);
  expect(await fixture.deliveries.failedSince(fixture.clientId, 0)).not.toContain(check.requestId);
});

test('a resend supersedes the retries that are under way', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  const hourScaled = { 'retry-after': '3600' };
  receiver.setAnswer((_, response) => void response.writeHead(503, hourScaled).end());
  await publish(check);
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
  // A retry from before the resend is dropped.
  const after = fixture.aWebhookCheck(receiver.url);
  await fixture.kafka.publish(webhookRetry['5s'], aRetryOf(check, { attemptCount: 1 }));
  await publish(after);
  await receiver.waitFor(of(after));
  expect(received(check)).toHaveLength(2);
  await waitUntil(
    'the log of both attempts',
    async () => (await fixture.deliveries.read(check.requestId))?.attempts.length === 2,
  );
  const view = await fixture.deliveries.read(check.requestId);
  expect(view?.resendCount).toBe(1);
  expect(view?.attempts.map(({ resendCount }) => resendCount)).toEqual([0, 1]);
});

test('a malformed retry record is dead-lettered, and the records behind it are processed', async () => {
  const topic = webhookRetry['5s'];
  const check = fixture.aWebhookCheck(receiver.url);
  await fixture.kafka.publishRecord(topic.name, { key: check.requestId, value: '{"requestId":1}' });
  await makeResults(fixture.redis).saveIfAbsent(savingOf(check));
  await fixture.kafka.publish(topic, aRetryOf(check));
  await receiver.waitFor(of(check));
  const letters = await waitUntil('the dead-lettered record', async () => {
    const found = await listDeadLetters(fixture.kafka, topic.name);
    const own = found.filter(({ key }) => key === check.requestId);
    return own.length > 0 && own;
  });
  expect(letters).toEqual([
    expect.objectContaining({ error: expect.objectContaining({ code: 'message-unreadable' }) }),
  ]);
});

test('hanging receivers do not delay the others', async () => {
  let [openCount, openCountMax] = [0, 0];
  await using hanging = await receiveWebhooks({
    answer(_, response) {
      openCount += 1;
      openCountMax = Math.max(openCountMax, openCount);
      response.once('close', () => {
        openCount -= 1;
      });
      return undefined;
    },
  });
  const checks = Array.from({ length: 400 }, (_, i) =>
    fixture.aWebhookCheck(i % 2 ? hanging.url : receiver.url),
  );
  await Promise.all(checks.map((check) => publish(check)));
  const healthy = checks.filter((_, i) => i % 2 === 0);
  await waitUntil('the healthy half', () => healthy.every((check) => received(check).length > 0));
  // The hanging one has at most its eight slots.
  expect(openCountMax).toBeLessThanOrEqual(8);
});

test('the view of deliveries comes back from the attempt log', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  receiver.setAnswer(({ attempt }) => (attempt === 1 ? 500 : 200));
  await publish(check);
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const { deliveries } = fixture;
  const before = await deliveries.read(check.requestId);
  const attempted: WebhookAttempted[] = [];
  await fixture.kafka.readTopic({
    topic: webhookAttempted.name,
    apply: async (records) => {
      for (const { key, value } of records)
        if (key?.toString() === check.requestId) attempted.push(parseMessage(webhookAttempted, value));
    },
  });
  await fixture.redis.del(`webhook:${check.requestId}`);
  for (const each of [...attempted, ...attempted]) await deliveries.record(each);
  expect(await deliveries.read(check.requestId)).toEqual(before);
});

test('the metrics cover attempts, slots and breakers, and name no client and no address', async () => {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  for (const name of [
    'rolecall_webhook_attempts_total{class="delivered"',
    'rolecall_webhook_first_attempt_seconds_bucket{le="+Inf"',
    'rolecall_webhook_delivery_seconds_bucket{le="+Inf"',
    'rolecall_webhook_in_flight',
    'rolecall_webhook_breakers{state="closed"',
    'rolecall_webhook_exhausted_total',
    'rolecall_webhook_oldest_undelivered_seconds',
  ])
    expect(text).toContain(name);
  expect(text).not.toContain(fixture.clientId);
  expect(text).not.toContain('/hook');
});

test('the log holds neither the secret nor a callback address', () => {
  expect(dispatcher.stdout()).toContain('unusual configuration');
  expect(dispatcher.stdout()).not.toContain(fixture.secret);
  expect(dispatcher.stdout()).not.toContain(receiver.url);
});

test('an address that is not allowed is never dialled, and the delivery is retried on schedule', async () => {
  const check = fixture.aWebhookCheck('http://10.0.0.1:9/');
  await publish(check);
  const view = await waitUntil('two attempts', async () => {
    const found = await fixture.deliveries.read(check.requestId);
    return found && found.attempts.length >= 2 && found;
  });
  expect(view.attempts[0]).toMatchObject({ class: 'address-refused' });
  expect(view.attempts[0]).not.toHaveProperty('status');
});

test('kill -9 during an attempt loses nothing, and the next process sends the same id and the same bytes', async () => {
  const check = fixture.aWebhookCheck(receiver.url);
  // Never answers, so that the kill comes between the receiver's work and the commit.
  receiver.setAnswer(() => undefined);
  await publish(check);
  await receiver.waitFor(of(check));
  await dispatcher.kill('SIGKILL');
  receiver.setAnswer(204);
  dispatcher = fixture.startDispatcher();
  await waitUntil('the delivered state', async () => (await stateOf(check)) === 'delivered');
  const webhooks = received(check);
  expect(webhooks.length).toBe(2);
  expect(new Set(webhooks.map(({ id, body }) => `${id} ${body}`)).size).toBe(1);
});

test('SIGTERM lets the attempts in progress finish and exits 0', async () => {
  await untilReady(dispatcher);
  const check = fixture.aWebhookCheck(receiver.url);
  const arrived = Promise.withResolvers<void>();
  const go = Promise.withResolvers<number>();
  receiver.setAnswer(() => {
    arrived.resolve();
    return go.promise;
  });
  await publish(check);
  await arrived.promise;
  const exit = dispatcher.kill('SIGTERM');
  go.resolve(200);
  expect(await exit).toBe(0);
  expect(await stateOf(check)).toBe('delivered');
  expect(received(check)).toHaveLength(1);
});
