import { type RetryTier, type WebhookRetry, webhookRetry } from '#shared/contracts/webhook.ts';
import { receiveWebhooks } from '../support/receive-webhooks.ts';
import type { SpawnedProcess } from '../support/spawn-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startWebhookFixture, untilReady, type WebhookFixture } from '../support/webhook-fixture.ts';

// Scenario: a real dispatcher whose times are scaled down, seen from outside: what waits in a tier, and what was
// given up.

const SESSION_TIMEOUT_MS = 3_000;
const HOUR_MS = 3_600_000;

let fixture: WebhookFixture;

beforeAll(async () => {
  fixture = await startWebhookFixture(10);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const iso = (atMs: number) => new Date(atMs).toISOString();

/** A record of a retry tier; returns its request id. */
async function publishRetry(tier: RetryTier, url: string, over: Partial<WebhookRetry>): Promise<string> {
  const { requestId, clientId, resultJson, acceptedAt, retainUntil } = fixture.aWebhookCheck(url);
  const common = { requestId, clientId, callbackUrl: url, resultJson, acceptedAt, retainUntil };
  const counts = { attemptCount: 1, asideCount: 0, chain: 0, dueAt: iso(Date.now()) };
  await fixture.kafka.publish(webhookRetry[tier], { ...common, ...counts, ...over });
  return requestId;
}

const stateOf = async (requestId: string) => (await fixture.deliveries.read(requestId))?.state;

/** The group's members, and how often this process has joined it: each rebalance would be one more. */
async function membershipOf(dispatcher: SpawnedProcess) {
  const groupId = 'webhook-dispatcher.retry';
  const { groups } = await fixture.kafka.admin.describeGroups([groupId]);
  const lines = dispatcher.stdout().split('\n');
  return {
    state: groups[0]?.state,
    memberIds: groups[0]?.members.map(({ memberId }) => memberId),
    joinCount: lines.filter((line) => line.includes('joined consumer group') && line.includes(groupId))
      .length,
  };
}

test('what waits in a tier for many session timeouts costs no rebalance, and goes out when it is due', async () => {
  await using receiver = await receiveWebhooks({ secret: fixture.secret });
  await using dispatcher = fixture.startDispatcher({ KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS) });
  await untilReady(dispatcher);
  const before = await membershipOf(dispatcher);
  expect(before).toMatchObject({ state: 'Stable', joinCount: 1 });

  // The partition's head rests in memory and nothing blocks the fetch loop, in which kafkajs sends its heartbeats: so
  // the time does not matter, and four session timeouts stand for ten minutes.
  const dueAtMs = Date.now() + 4 * SESSION_TIMEOUT_MS;
  const waiting = await Promise.all(
    Array.from({ length: 24 }, () => publishRetry('5m', receiver.url, { dueAt: iso(dueAtMs) })),
  );
  const never = await publishRetry('10h', receiver.url, { dueAt: iso(dueAtMs + 600_000) });
  await waitUntil('all that is due', () => receiver.deliveries.length === waiting.length);
  expect(receiver.deliveries.map(({ requestId }) => requestId).sort()).toEqual(waiting.sort());
  expect(Math.min(...receiver.deliveries.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(dueAtMs);
  expect(receiver.deliveries.some(({ requestId }) => requestId === never)).toBe(false);
  expect(await membershipOf(dispatcher)).toEqual(before);
});

test('40 h after it was first taken up a delivery is exhausted without another attempt, time put aside included', async () => {
  await using receiver = await receiveWebhooks();
  await using dispatcher = fixture.startDispatcher();
  await untilReady(dispatcher);
  const scaledMs = 40 * HOUR_MS * 0.001;
  const over = await publishRetry('5s', receiver.url, {
    asideCount: 7,
    firstAttemptAt: iso(Date.now() - scaledMs - 1_000),
  });
  const young = await publishRetry('5s', receiver.url, { firstAttemptAt: iso(Date.now() - scaledMs / 2) });
  await waitUntil(
    'the end of both',
    async () => (await stateOf(over)) && (await stateOf(young)) === 'delivered',
  );
  await waitUntil('the exhausted state', async () => (await stateOf(over)) === 'exhausted');
  expect(receiver.deliveries.map(({ requestId }) => requestId)).toEqual([young]);
  expect(await fixture.deliveries.failedSince(fixture.clientId, 0)).toContain(over);
});
