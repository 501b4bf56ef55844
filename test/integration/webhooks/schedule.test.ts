import {
  type RetryTier,
  type WebhookRetry,
  webhookRequested,
  webhookRetry,
} from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeResults, savingOf } from '#shared/stores/checks/results.ts';
import { receiveWebhooks } from '../../support/fakes/receive-webhooks.ts';
import type { SpawnedProcess } from '../../support/systems/spawn-process.ts';
import {
  startWebhookFixture,
  untilReady,
  type WebhookFixture,
} from '../../support/systems/webhook-fixture.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: a real dispatcher with scaled-down times, seen from outside: messages that wait in a
// tier, deliveries that were exhausted, and a receiver that fails until its breaker opens.

/** Longer than a busy machine holds up a process. */
const SESSION_TIMEOUT_MS = 5_000;
const SESSION_TIMEOUTS = 2;
const HOUR_MS = 3_600_000;

let fixture: WebhookFixture;

beforeAll(async () => {
  fixture = await startWebhookFixture(10);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const iso = (atMs: number) => new Date(atMs).toISOString();

/** A record of a retry tier, whose body is stored; returns its request id. */
async function publishRetry(tier: RetryTier, url: string, over: Partial<WebhookRetry>): Promise<string> {
  const check = fixture.aWebhookCheck(url);
  const { requestId, clientId, accountId, acceptedAt, retainUntil } = check;
  await makeResults(fixture.redis).saveIfAbsent(savingOf(check));
  const common = { requestId, clientId, accountId, callbackUrl: url, acceptedAt, retainUntil };
  const counts = { attemptCount: 1, deferralCount: 0, resendCount: 0, dueAt: iso(Date.now()) };
  await fixture.kafka.publish(webhookRetry[tier], { ...common, ...counts, ...over });
  return requestId;
}

const publishCheck = async (url: string): Promise<string> => {
  const check = fixture.aWebhookCheck(url);
  await fixture.kafka.publish(webhookRequested, check);
  return check.requestId;
};

/** Undefined also if Redis did not answer in time, as on a machine that is busy with something
 * else: ask again. */
const stateOf = async (requestId: string) =>
  (await fixture.deliveries.read(requestId).catch(ifUnavailable))?.state;
const ifUnavailable = (error: unknown): undefined => {
  if (!(error instanceof ServiceError && error.code === 'store-unavailable')) throw error;
};
const areDelivered = async (requestIds: readonly string[]) =>
  (await Promise.all(requestIds.map(stateOf))).every((state) => state === 'delivered');

/** The group's members, and how often this process has joined the group: each rebalance would add
 * one. */
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

test('messages wait in a tier for longer than a session timeout without a rebalance, and go out when they are due', async () => {
  await using receiver = await receiveWebhooks({ secret: fixture.secret });
  await using dispatcher = fixture.startDispatcher({ KAFKA_SESSION_TIMEOUT_MS: String(SESSION_TIMEOUT_MS) });
  await untilReady(dispatcher);
  const before = await membershipOf(dispatcher);
  expect(before).toMatchObject({ state: 'Stable', joinCount: 1 });

  // The partition's head waits in memory and does not block the fetch loop, in which kafkajs sends
  // its heartbeats. So the duration does not matter, and two session timeouts stand for ten
  // minutes.
  const dueAtMs = Date.now() + SESSION_TIMEOUTS * SESSION_TIMEOUT_MS;
  const waiting = await Promise.all(
    Array.from({ length: 24 }, () => publishRetry('5m', receiver.url, { dueAt: iso(dueAtMs) })),
  );
  const never = await publishRetry('10h', receiver.url, { dueAt: iso(dueAtMs + 600_000) });
  await waitUntil('all due messages to arrive', () => receiver.deliveries.length === waiting.length);
  expect(receiver.deliveries.map(({ requestId }) => requestId).sort()).toEqual(waiting.sort());
  expect(Math.min(...receiver.deliveries.map(({ atMs }) => atMs))).toBeGreaterThanOrEqual(dueAtMs);
  expect(receiver.deliveries.some(({ requestId }) => requestId === never)).toBe(false);
  expect(await membershipOf(dispatcher)).toEqual(before);
  // Otherwise the next test's dispatcher would send them again, to a receiver that is gone, and
  // open its breaker.
  await waitUntil('all of them to be recorded', () => areDelivered(waiting));
});

test('a delivery is exhausted 40 h after its first attempt, without another one, deferrals included', async () => {
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

test('a failing receiver gets ten attempts, then single probes ever further apart, then all waiting messages', async () => {
  const scale = 0.02;
  const openMs = [30_000, 60_000, 120_000].map((ms) => ms * scale);
  await using receiver = await receiveWebhooks({ secret: fixture.secret });
  // Every attempt after the breaker was seen open, with none under way, is a probe. The third probe
  // succeeds.
  let probesFrom = Number.POSITIVE_INFINITY;
  const probes = () => receiver.deliveries.slice(probesFrom, probesFrom + openMs.length);
  receiver.setAnswer((_, __, place) => (place - probesFrom < openMs.length ? 500 : 204));
  await using dispatcher = fixture.startDispatcher({ WEBHOOK_SCHEDULE_SCALE: String(scale) });
  const opsPort = await untilReady(dispatcher);
  const breakersAndAttempts = async () => {
    const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
    return {
      open: /rolecall_webhook_breakers\{state="open"[^}]*\} (\d+)/.exec(text)?.[1],
      inFlight: /rolecall_webhook_in_flight\{[^}]*\} (\d+)/.exec(text)?.[1],
    };
  };
  const ids = await Promise.all(Array.from({ length: 30 }, () => publishCheck(receiver.url)));
  await waitUntil('an open breaker and no attempt under way', async () => {
    const { open, inFlight } = await breakersAndAttempts();
    return open === '1' && inFlight === '0';
  });
  probesFrom = receiver.deliveries.length;
  // One message is always waiting.
  await waitUntil('three probes', async () => {
    ids.push(await publishCheck(receiver.url));
    return probes().length === openMs.length;
  });
  // Beside the ten, the attempts that were under way when it opened: at most the receiver's slots.
  const tenthAtMs = receiver.deliveries[9]?.atMs ?? 0;
  const early = receiver.deliveries.filter(({ atMs }) => atMs - tenthAtMs < (openMs[0] ?? 0));
  expect(early.length).toBeLessThanOrEqual(10 + 8);
  // It opened when the tenth attempt had failed, and not before.
  const times = [tenthAtMs, ...probes().map(({ atMs }) => atMs)];
  openMs.forEach((ms, i) => {
    expect((times[i + 1] ?? 0) - (times[i] ?? 0)).toBeGreaterThanOrEqual(ms);
  });

  await waitUntil('all of them', () => areDelivered(ids));
  expect((await breakersAndAttempts()).open).not.toBe('1');
  // Deferrals did not advance the schedule: later messages were delivered by their first attempt.
  const attempts = receiver.deliveries.filter(({ requestId }) => requestId === ids.at(-1));
  expect(attempts.map(({ attempt }) => attempt)).toEqual([1]);
});
