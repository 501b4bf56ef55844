import { checkCompleted } from '#shared/contracts/check-completed.ts';
import { type RetryTier, type WebhookRetry, webhookRetry } from '#shared/contracts/webhook.ts';
import { receiveWebhooks } from '../support/receive-webhooks.ts';
import type { SpawnedProcess } from '../support/spawn-process.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startWebhookFixture, untilReady, type WebhookFixture } from '../support/webhook-fixture.ts';

// Scenario: a real dispatcher whose times are scaled down, seen from outside: what waits in a tier, what was given
// up, and a receiver that fails until its breaker opens.

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
  const counts = { attemptCount: 1, deferralCount: 0, resendCount: 0, dueAt: iso(Date.now()) };
  await fixture.kafka.publish(webhookRetry[tier], { ...common, ...counts, ...over });
  return requestId;
}

const publishCheck = async (url: string): Promise<string> => {
  const check = fixture.aWebhookCheck(url);
  await fixture.kafka.publish(checkCompleted, check);
  return check.requestId;
};

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

test('a delivery is exhausted without another attempt 40 h after its first one, deferrals included', async () => {
  await using receiver = await receiveWebhooks();
  await using dispatcher = fixture.startDispatcher();
  await untilReady(dispatcher);
  const scaledMs = 40 * HOUR_MS * 0.001;
  const over = await publishRetry('5s', receiver.url, {
    deferralCount: 7,
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

test('a receiver that fails gets ten attempts, then single probes ever further apart, then all that waited', async () => {
  const scale = 0.05;
  const openMs = [30_000, 60_000, 120_000].map((ms) => ms * scale);
  await using receiver = await receiveWebhooks({ secret: fixture.secret, answer: 500 });
  await using dispatcher = fixture.startDispatcher({ WEBHOOK_SCHEDULE_SCALE: String(scale) });
  const opsPort = await untilReady(dispatcher);
  const openBreakers = async () => {
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return /rolecall_webhook_breakers\{state="open"[^}]*\} (\d+)/.exec(text)?.[1];
  };
  const ids = await Promise.all(Array.from({ length: 30 }, () => publishCheck(receiver.url)));
  await waitUntil('an open breaker', async () => (await openBreakers()) === '1');
  // Beside the ten those that were under way when it opened, at most the receiver's slots.
  const opening = receiver.deliveries.length;
  expect(opening).toBeLessThan(10 + 8);

  // There is always one that would like to go. The third probe succeeds.
  receiver.setAnswer((_, __, place) => (place < opening + openMs.length ? 500 : 204));
  await waitUntil('three probes', async () => {
    ids.push(await publishCheck(receiver.url));
    return receiver.deliveries.length >= opening + openMs.length;
  });
  // It opened when the tenth had failed, and not before that one came.
  const times = receiver.deliveries.filter((_, i) => i === 9 || i >= opening).map(({ atMs }) => atMs);
  openMs.forEach((ms, i) => {
    expect((times[i + 1] ?? 0) - (times[i] ?? 0)).toBeGreaterThanOrEqual(ms);
  });

  await waitUntil('all of them', async () => {
    const states = await Promise.all(ids.map(stateOf));
    return states.every((state) => state === 'delivered');
  });
  expect(await openBreakers()).not.toBe('1');
  // Deferrals advanced no schedule: later messages were delivered by their first attempt.
  const attempts = receiver.deliveries.filter(({ requestId }) => requestId === ids.at(-1));
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1]);
});
