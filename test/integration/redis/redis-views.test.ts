import { randomUUID } from 'node:crypto';
import { type ClientApp, clientApp } from '#shared/contracts/apps/client-app.ts';
import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { CHECK_LOG_COUNT_MAX } from '#shared/contracts/checks/check-log.ts';
import { type CheckRequested, checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { type Usage, usage } from '#shared/contracts/usage/usage.ts';
import {
  type WebhookAttempted,
  webhookAttempted,
  webhookRequested,
} from '#shared/contracts/webhooks/webhook.ts';
import { makeLeasedSlots, ownedAppsKey } from '#shared/fairness/leased-slots.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { withLock } from '#shared/redis/script.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { GENERATION_KEY, makeViewState } from '#shared/redis/view.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeAdmitter, monthCounterKey } from '#shared/stores/checks/admit.ts';
import { makeResults, replyChannelOf, savingOf } from '#shared/stores/checks/results.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { makeUsageFigures } from '#shared/stores/usage/usage.ts';
import { dayOf, hourOf } from '#shared/stores/usage/usage-days.ts';
import { makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import { makeProjector } from '../../../services/result-store/project/project-document.ts';
import { aCheckCompleted, aWebhookOfCheck } from '../../support/builders/a-check-completed.ts';
import { aCheckRequested } from '../../support/builders/a-check-requested.ts';
import { aCheckResult } from '../../support/builders/a-check-result.ts';
import { aClientApp } from '../../support/builders/a-client-app.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: the views are in a real Kafka and in a database of a real Redis that only this file
// uses. The tests check what every other part relies on: the first result wins, and an emptied
// Redis is rebuilt completely.

const stores = testStores(1);
const aResult = (over: Partial<CheckCompleted> = {}) => aCheckCompleted('app_views', over);
const aCheck = (requestId: string, clientId: string): CheckRequested =>
  aCheckRequested(clientId, { requestId });
const anApp = (version: number, name: string, clientId = 'app_views'): ClientApp =>
  aClientApp(clientId, {
    version,
    name,
  });
/** The hourly totals of every app for this hour and the last one. */
async function readRecent(): Promise<Usage[]> {
  const figures = makeUsageFigures(stores.redis);
  return Promise.all((await figures.listRecent(Date.now())).map(figures.read));
}

beforeEach(async () => {
  await stores.redis.flushdb();
  await stores.replay();
});

test('the first stored result wins, byte for byte, and later saves return it', async () => {
  const results = makeResults(stores.redis);
  const first = aResult();
  expect(await results.saveIfAbsent(savingOf(first))).toBe('{"n":1}');
  expect(await results.saveIfAbsent(savingOf({ ...first, resultJson: '{"n":2}' }))).toBe('{"n":1}');
  expect(await results.read(first.requestId)).toBe('{"n":1}');
  expect(await results.readMany(['unknown', first.requestId])).toEqual([undefined, '{"n":1}']);
  const large = { ...first, requestId: 'large', resultJson: JSON.stringify('x'.repeat(20_000)) };
  await results.saveIfAbsent(savingOf(large));
  expect(await results.readMany(['large', first.requestId])).toEqual([large.resultJson, '{"n":1}']);
  const polled = await Promise.all(['unknown', first.requestId, 'large'].map(results.find));
  expect(polled).toEqual([undefined, '{"n":1}', large.resultJson.length]);
  const found = await Promise.all(['unknown', first.requestId].map(results.has));
  expect(found).toEqual([false, true]);
});

test('of all saves of a result one is observed as the first, also among copies with the same bytes', async () => {
  const observed: string[] = [];
  const results = makeResults(stores.redis, ({ mode }, isFirst) => void observed.push(`${mode} ${isFirst}`));
  const check = aWebhookOfCheck('app_views', { resultJson: aCheckResult({}) });
  const other = { ...check, resultJson: aCheckResult({ status: 'failed' }) };
  for (const body of [check, check, other]) await results.saveIfAbsent(savingOf(body));
  expect(observed).toEqual(['webhook true', 'webhook false', 'webhook false']);
});

test('the body of a webhook is kept beyond its retention, and a copy that is saved later keeps it no longer', async () => {
  const results = makeResults(stores.redis);
  const ended = new Date(Date.now() - 1_000).toISOString();
  const event = { ...aWebhookOfCheck('app_views', { retainUntil: ended }), check: undefined };
  await results.saveIfAbsent(savingOf(event));
  expect(await stores.redis.pttl(`result:${event.requestId}`)).toBeGreaterThan(40 * HOUR_MS);
  await stores.redis.pexpire(`result:${event.requestId}`, 60_000);
  expect(await results.saveIfAbsent(savingOf({ ...event, resultJson: '{"n":2}' }))).toBe('{"n":1}');
  expect(await stores.redis.pttl(`result:${event.requestId}`)).toBeLessThanOrEqual(60_000);
});

test('an undecided check is refunded to its month once, however often it is saved', async () => {
  const results = makeResults(stores.redis);
  const undecided = aResult({ decided: false, chargedMonth: '2026-11' });
  const counter = monthCounterKey('app_views', '2026-11');
  await stores.redis.set(counter, 5);
  await results.saveIfAbsent(savingOf(undecided));
  await results.saveIfAbsent(savingOf(undecided));
  expect(await stores.redis.get(counter)).toBe('4');
});

test('the log of an app is bounded and has each check once, newest first', async () => {
  const { results, checkLog } = openViews(stores.redis);
  const countMade = CHECK_LOG_COUNT_MAX + 100;
  const checks = Array.from({ length: countMade }, (_, i) =>
    aResult({
      requestId: `logged-${i}`,
      resultJson: aCheckResult({}),
      acceptedAt: new Date(Date.now() - (countMade - i) * 1_000).toISOString(),
    }),
  );
  // In any order, and some of them twice: partitions are read one after another, and records are
  // redelivered.
  for (const check of [...checks.toReversed(), ...checks.slice(0, 50)])
    await results.saveIfAbsent(savingOf(check));
  const logged = await checkLog.list('app_views');
  expect(logged.length).toBe(CHECK_LOG_COUNT_MAX);
  expect(logged.map(({ requestId }) => requestId)).toEqual(
    checks
      .slice(-CHECK_LOG_COUNT_MAX)
      .map(({ requestId }) => requestId)
      .toReversed(),
  );
  expect(await stores.redis.zcard('check-log:{app_views}')).toBeLessThan(CHECK_LOG_COUNT_MAX + 64);
  expect(await stores.redis.pttl('check-log:{app_views}')).toBeGreaterThan(0);
});

test('a result that is saved after its retention refunds its check once, however often it is saved', async () => {
  const results = makeResults(stores.redis);
  const ended = new Date(Date.now() - 1).toISOString();
  const late = aResult({ decided: false, chargedMonth: '2026-11', retainUntil: ended });
  const counter = monthCounterKey('app_views', '2026-11');
  await stores.redis.set(counter, 5);
  await results.saveIfAbsent(savingOf(late));
  await results.saveIfAbsent(savingOf(late));
  expect(await stores.redis.get(counter)).toBe('4');
  expect(await results.read(late.requestId)).toBeUndefined();
});

test('without the generation marker nothing is read and nothing is written', async () => {
  const results = makeResults(stores.redis);
  await makeViewState(stores.redis).invalidate();
  await expect(results.read('r')).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(results.has('r')).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(results.saveIfAbsent(savingOf(aResult()))).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(makeClientApps(stores.redis).read('app_views')).rejects.toMatchObject({
    code: 'view-rebuilding',
  });
});

test('a call is not affected by a rebuild, or by a call with a broken key in the same batch', async () => {
  const results = makeResults(stores.redis);
  const views = makeViewState(withLock(stores.redis, 'mine'));
  await views.invalidate();
  await views.lock('mine');
  const [ordinary, rebuilt] = await Promise.allSettled([
    results.saveIfAbsent(savingOf(aResult())),
    makeResults(withLock(stores.redis, 'mine')).saveIfAbsent(savingOf(aResult({ requestId: 'r-rebuilt' }))),
  ]);
  expect(ordinary).toMatchObject({ reason: { code: 'view-rebuilding' } });
  expect(rebuilt).toMatchObject({ value: '{"n":1}' });
  await views.open();
  await views.finish();
  await stores.redis.lpush('result:r-broken', 'not a text');
  const [broken, whole] = await Promise.allSettled([
    results.saveIfAbsent(savingOf(aResult({ requestId: 'r-broken' }))),
    results.saveIfAbsent(savingOf(aResult({ requestId: 'r-whole' }))),
  ]);
  expect(broken).toMatchObject({ reason: { code: 'store-unavailable' } });
  expect(whole).toMatchObject({ value: '{"n":1}' });
});

test('an older version of a client app never replaces a newer one', async () => {
  const apps = makeClientApps(stores.redis);
  expect(await apps.project(anApp(2, 'new'))).toBe(true);
  expect(await apps.project(anApp(1, 'old'))).toBe(false);
  expect((await apps.read('app_views'))?.name).toBe('new');
});

describe('the apps of an account', () => {
  const made = ['01', '03', '02'];
  beforeEach(async () => {
    const apps = makeClientApps(stores.redis);
    const large = 'x'.repeat(700_000);
    for (const day of made) {
      const app = anApp(1, `${day}${large}`, `app_${day}`);
      await apps.project({ ...app, createdAt: `2026-11-${day}T10:00:00.000Z` });
    }
    await apps.project({ ...anApp(1, 'deleted', 'app_deleted'), deletedAt: '2026-11-21T10:00:00.000Z' });
    await apps.project({ ...anApp(1, 'other', 'app_other'), accountId: 'acc_2' });
  });

  test('are listed oldest first, although one reply of Redis does not hold them all', async () => {
    const apps = makeClientApps(stores.redis);
    expect(await apps.listOwned('acc_1', ({ name }) => name.slice(0, 2))).toEqual(['01', '02', '03']);
    const all = await apps.list(({ clientId }) => clientId);
    expect(all.filter((id) => /^app_(0\d|other|deleted)$/.test(id))).toEqual([
      'app_01',
      'app_02',
      'app_03',
      'app_other',
    ]);
  });

  test('are counted without an app that is being created', async () => {
    await makeLeasedSlots(stores.redis).take(ownedAppsKey('acc_1'), 'app_new', 10);
    expect(await makeClientApps(stores.redis).countOwned('acc_1')).toBe(3);
  });

  test('are not reported as none while the views are incomplete', async () => {
    await makeViewState(stores.redis).invalidate();
    const apps = makeClientApps(stores.redis);
    await expect(apps.listOwned('acc_none', () => 1)).rejects.toMatchObject({ code: 'view-rebuilding' });
    await expect(apps.countOwned('acc_none')).rejects.toMatchObject({ code: 'view-rebuilding' });
  });
});

test('a revoked key stays revoked after a wipe, whatever the topic holds before it', async () => {
  const clientId = `app_${randomUUID()}`;
  const createdAt = '2026-11-21T10:00:00.000Z';
  const key = { keyId: 'key_1', hash: randomUUID(), name: 'k', prefix: 'rc_', lastFour: '0000', createdAt };
  const late = {
    ...anApp(2, 'app', clientId),
    keys: [{ ...key, marketplace: false, permissions: ['check' as const] }],
  };
  const revokedAt = '2026-11-21T11:00:00.000Z';
  const revoked = { ...late, keys: late.keys.map((one) => ({ ...one, revokedAt })) };
  const apps = makeClientApps(stores.redis);
  // Two writers made one version; the first gave up, and its document still reached the topic.
  await stores.kafka.publish(clientApp, late);
  await stores.kafka.publish(clientApp, revoked);
  await apps.project(revoked);
  const follow = makeProjector<ClientApp>({
    project: (document) => apps.project(document),
    read: (document) => apps.read(document.clientId),
    publish: (document) => stores.kafka.publish(clientApp, document),
  });
  for (const document of [late, revoked]) await follow(document, {} as RecordContext);
  expect((await apps.read(clientId))?.keys[0]?.revokedAt).toBe(revokedAt);
  await stores.redis.flushdb();
  await stores.replay();
  expect((await apps.read(clientId))?.keys[0]?.revokedAt).toBe(revokedAt);
});

test('the version of a writer that gave up is not reused', async () => {
  const LEASE_MS = 600_000;
  const apps = makeClientApps(stores.redis);
  const clientId = `app_${randomUUID()}`;
  const first = await apps.lease(clientId, 0, 1);
  const second = await waitUntil('the first lease to end', () => apps.lease(clientId, 0, LEASE_MS));
  const [one, other] = [first?.version ?? 0, second.version];
  expect(other).toBeGreaterThan(one);
  expect(await apps.lease(clientId, 0, LEASE_MS)).toBeUndefined();
  await apps.project(anApp(other, 'second', clientId));
  // The first writer's record arrives late and changes nothing.
  expect(await apps.project(anApp(one, 'first', clientId))).toBe(false);
  expect((await apps.lease(clientId, other, LEASE_MS))?.version).toBeGreaterThan(other);
});

test('an idempotency key that was used again after a wipe replays the second check', async () => {
  const clientId = `app_${randomUUID()}`;
  const [spent, holder] = [randomUUID(), randomUUID()];
  const idempotency = { keyHash: 'k', bodyHash: 'b' };
  const at = (ms: number) => new Date(Date.now() - ms).toISOString();
  await stores.kafka.publish(checkRequestedBulk, {
    ...aCheck(holder, clientId),
    idempotency,
    acceptedAt: at(1_000),
  });
  await stores.kafka.publish(checkRequestedBulk, {
    ...aCheck(spent, clientId),
    idempotency,
    acceptedAt: at(2_000),
  });
  await stores.redis.flushdb();
  await stores.replay();
  const { admit } = makeAdmitter(stores.redis, Date.now);
  const limits = { requestsPerSecond: 10, requestsPerMonth: 10 };
  const check = { seed: '1.00', claim: idempotency };
  const replay = await admit({ clientId, accountId: 'acc_1', limits, bucket: 'per-second', check });
  expect(replay).toMatchObject({ outcome: 'published', claim: { requestId: holder } });
});

test('the newest total of an hour comes back, regardless of the order of two publishers', async () => {
  const clientId = `app_${randomUUID()}`;
  const hour = new Date().toISOString().slice(0, 13);
  const total = { clientId, hour, month: hour.slice(0, 7), monthTotal: 0, monthOfWatches: 0, day: {} };
  await stores.kafka.publish(usage, { ...total, ofHour: { refused: 7 }, asOf: `${hour}:30:01.000Z` });
  await stores.kafka.publish(usage, { ...total, ofHour: { refused: 5 }, asOf: `${hour}:30:00.000Z` });
  await stores.redis.flushdb();
  await stores.replay();
  const { usageDays } = openViews(stores.redis);
  expect(await usageDays.readHours(clientId, [hourOf(Date.parse(`${hour}:00:00Z`))])).toEqual([
    { refused: 7 },
  ]);
});

test('a failed rebuild releases the lock for the next one', async () => {
  await stores.redis.flushdb();
  const failing = { ...stores.kafka, readTopic: () => Promise.reject(new Error('the broker is away')) };
  await expect(replayTopics({ ...stores.forReplay(), kafka: failing })).rejects.toThrow('the broker is away');
  expect(await stores.replay()).toBeDefined();
});

test('an emptied Redis is rebuilt from the topics: apps, and the first of two results', async () => {
  const first = aResult();
  const expired = aResult({ retainUntil: '2020-01-01T00:00:00.000Z' });
  await stores.kafka.publish(checkCompleted, first);
  await stores.kafka.publish(checkCompleted, { ...first, resultJson: '{"n":2}' });
  await stores.kafka.publish(checkCompleted, expired);
  await stores.kafka.publish(clientApp, anApp(1, 'one', `app_${first.requestId}`));
  await stores.kafka.publishRecord(checkCompleted.name, { key: 'poison', value: 'not json' });
  await stores.redis.flushdb();
  const counts = await stores.replay();
  expect(counts?.[checkCompleted.name]).toBeGreaterThanOrEqual(3);
  const results = makeResults(stores.redis);
  expect(await results.read(first.requestId)).toBe('{"n":1}');
  expect(await results.read(expired.requestId)).toBeUndefined();
  expect((await makeClientApps(stores.redis).read(`app_${first.requestId}`))?.name).toBe('one');
});

test('the log of checks comes back after a rebuild, of expired results too, each check once', async () => {
  const clientId = `app_${randomUUID()}`;
  const logged = (over: Partial<CheckCompleted>) =>
    aCheckCompleted(clientId, { resultJson: aCheckResult({}), requestId: randomUUID(), ...over });
  const kept = logged({ acceptedAt: new Date(Date.now() - 1_000).toISOString() });
  const expired = logged({
    acceptedAt: new Date(Date.now() - 2 * HOUR_MS).toISOString(),
    retainUntil: new Date(Date.now() - HOUR_MS).toISOString(),
  });
  for (const check of [kept, expired, kept, expired]) await stores.kafka.publish(checkCompleted, check);
  const { checkLog, usageDays, views } = openViews(stores.redis);
  const logIds = async () => (await checkLog.list(clientId)).map(({ requestId }) => requestId);
  await stores.redis.flushdb();
  await stores.replay();
  expect(await logIds()).toEqual([kept.requestId, expired.requestId]);
  // An operator's rebuild finds the log there.
  await views.invalidate();
  await stores.replay();
  expect(await logIds()).toEqual([kept.requestId, expired.requestId]);
  const today = dayOf(Date.now());
  const days = await usageDays.read(clientId, [today - 1, today]);
  expect(days.reduce((sum, figures) => sum + (figures['poll.completed.0'] ?? 0), 0)).toBe(2);
});

test('a rebuild keeps the body of an open or failed webhook beyond its retention, and of no delivered one', async () => {
  const ended = new Date(Date.now() - 1_000).toISOString();
  const aWebhook = () => aWebhookOfCheck('app_views', { retainUntil: ended });
  const [deferred, failing, failed, delivered] = [aWebhook(), aWebhook(), aWebhook(), aWebhook()];
  const attempt = { ...aFailure('app_views', Date.now()), attempt: 1, retainUntil: ended };
  for (const check of [deferred, failing, failed, delivered])
    await stores.kafka.publish(webhookRequested, check);
  for (const [{ requestId }, state] of [
    [failing, 'pending'] as const,
    [failed, 'exhausted'] as const,
    [delivered, 'delivered'] as const,
  ])
    await stores.kafka.publish(webhookAttempted, { ...attempt, requestId, state });
  await stores.redis.flushdb();
  await stores.replay();
  const ids = [deferred, failing, failed, delivered].map(({ requestId }) => requestId);
  const kept = '{"n":1}';
  expect(await makeResults(stores.redis).readMany(ids)).toEqual([kept, kept, kept, undefined]);
  // Until the delivery ends.
  const { deliveries } = openViews(stores.redis);
  await deliveries.record({ ...attempt, requestId: failing.requestId, attempt: 2, state: 'delivered' });
  expect(await makeResults(stores.redis).read(failing.requestId)).toBeUndefined();
});

test.each(['exhausted', 'stopped'] as const)(
  'the body of a webhook that is %s is kept as long as its delivery is shown, however short its retention',
  async (state) => {
    const { deliveries } = openViews(stores.redis);
    const retainUntil = new Date(Date.now() + 1_000).toISOString();
    const webhook = aWebhookOfCheck('app_views', { retainUntil });
    const { requestId } = webhook;
    await deliveries.claim(webhook, 'webhook.requested.v1/0/1', Date.now());
    await makeResults(stores.redis).saveIfAbsent(savingOf(webhook));
    await deliveries.record({ ...aFailure('app_views', Date.now()), requestId, retainUntil, state });
    const body = await stores.redis.pttl(`result:${requestId}`);
    const shown = await stores.redis.pttl(`webhook:${requestId}`);
    expect(body).toBeGreaterThan(71 * HOUR_MS);
    expect(Math.abs(body - shown)).toBeLessThan(60_000);
  },
);

const HOUR_MS = 3_600_000;
const aFailure = (clientId: string, endedMs: number): WebhookAttempted => ({
  requestId: randomUUID(),
  clientId,
  accountId: `acc_of_${clientId}`,
  resendCount: 0,
  attempt: 8,
  at: new Date(endedMs).toISOString(),
  state: 'exhausted',
  class: 'timeout',
  durationMs: 1,
  callbackUrl: 'https://example.com/',
  acceptedAt: new Date(endedMs - HOUR_MS).toISOString(),
  retainUntil: new Date(endedMs + HOUR_MS).toISOString(),
});

test('a failed delivery is listed for its own 72 hours, whatever was listed before it', async () => {
  const deliveries = makeDeliveries(stores.redis);
  const clientId = `app_${randomUUID()}`;
  const [old, young] = [aFailure(clientId, Date.now() - 71 * HOUR_MS), aFailure(clientId, Date.now())];
  await deliveries.record(old);
  await deliveries.record(young);
  expect(await stores.redis.pttl(`webhooks-failed:${clientId}`)).toBeGreaterThan(71 * HOUR_MS);
  await deliveries.record(aFailure(clientId, Date.now() - 70 * HOUR_MS));
  expect(await stores.redis.pttl(`webhooks-failed:${clientId}`)).toBeGreaterThan(71 * HOUR_MS);
});

test('a page of deliveries of one state reads no others as a whole, however many it looks at', async () => {
  let readCount = 0;
  const counting = new Proxy(stores.redis, {
    get(target, name) {
      if (name === 'hgetall') readCount += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const deliveries = makeDeliveries(counting);
  const clientId = `app_${randomUUID()}`;
  const failures = [aFailure(clientId, Date.now() - HOUR_MS), aFailure(clientId, Date.now() - HOUR_MS)];
  for (const failure of failures) await deliveries.record(failure);
  const OTHERS = 600;
  await Promise.all(
    Array.from({ length: OTHERS }, () =>
      deliveries.record({ ...aFailure(clientId, Date.now()), state: 'delivered' }),
    ),
  );
  const first = await deliveries.page(clientId, { state: 'exhausted', countMax: 1 });
  expect(first.deliveries).toHaveLength(1);
  const second = await deliveries.page(clientId, { state: 'exhausted', countMax: 1, before: first.next });
  const ids = [...first.deliveries, ...second.deliveries].map(({ requestId }) => requestId);
  expect(new Set(ids)).toEqual(new Set(failures.map(({ requestId }) => requestId)));
  expect(await deliveries.page(clientId, { state: 'pending', countMax: 10 })).toEqual({
    deliveries: [],
    next: undefined,
  });
  expect(readCount).toBe(2);
  expect((await deliveries.page(clientId, { countMax: 100 })).deliveries).toHaveLength(100);
});

test('a failed delivery survives a wiped Redis, even after its result has expired', async () => {
  const failure = aFailure(`app_${randomUUID()}`, Date.now() - 2 * HOUR_MS);
  await stores.kafka.publish(webhookAttempted, failure);
  await stores.redis.flushdb();
  await stores.replay();
  const deliveries = makeDeliveries(stores.redis);
  expect((await deliveries.read(failure.requestId))?.state).toBe('exhausted');
  expect(await deliveries.failedSince(failure.clientId, 0)).toEqual([failure.requestId]);
});

test('one of two rebuilders works and the other waits', async () => {
  await stores.redis.flushdb();
  const outcomes = await Promise.all([stores.replay(), stores.replay()]);
  expect(outcomes.filter((counts) => counts === undefined)).toHaveLength(1);
});

test('a rebuilder whose lock was wiped does not mark the views as complete', async () => {
  const views = makeViewState(withLock(stores.redis, 'mine'));
  await stores.redis.flushdb();
  await views.lock('mine');
  await stores.redis.flushdb();
  const write = makeResults(withLock(stores.redis, 'mine')).saveIfAbsent(savingOf(aResult()));
  await expect(write).rejects.toMatchObject({ code: 'view-rebuilding' });
  for (const step of [views.open, views.finish])
    await expect(step()).rejects.toMatchObject({ code: 'view-rebuilding' });
  expect(await views.readState()).toBe('missing');
});

test("an emptied Redis gets back the state of admission: the month's counter, and claims that still replay", async () => {
  const clientId = `app_${randomUUID()}`;
  const { admit, markPublished } = makeAdmitter(stores.redis, Date.now);
  const limits = { requestsPerSecond: 1_000, requestsPerMonth: 1_000 };
  const claim = { keyHash: 'k', bodyHash: 'b' };
  const ask = (seed: string, withClaim: boolean) =>
    admit({
      clientId,
      accountId: 'acc_1',
      limits,
      bucket: 'per-second',
      check: { seed, ...(withClaim ? { claim } : {}) },
    });
  const ids: string[] = [];
  for (const seed of ['1', '2', '3']) {
    const admission = await ask(seed, seed === '1');
    const month = admission.month?.name ?? '';
    const requestId = randomUUID();
    ids.push(requestId);
    if (seed === '1') await markPublished({ clientId, keyHash: 'k', seed, requestId });
    await stores.kafka.publish(checkRequestedBulk, {
      ...aCheck(requestId, clientId),
      acceptedAt: new Date(admission.nowMs).toISOString(),
      chargedMonth: month,
      ...(seed === '1' ? { idempotency: claim } : {}),
    });
    if (seed !== '1') continue;
    // The totals as the result-store publishes them after the first check.
    const [figures] = (await readRecent()).filter((u) => u.clientId === clientId);
    if (figures) await stores.kafka.publish(usage, figures);
  }
  const undecided = { requestId: ids[2] ?? '', clientId, decided: false };
  await stores.kafka.publish(
    checkCompleted,
    aResult({ ...undecided, chargedMonth: new Date().toISOString().slice(0, 7) }),
  );

  await stores.redis.flushdb();
  await stores.replay();

  const replay = await ask('4', true);
  expect(replay).toMatchObject({ outcome: 'published', claim: { requestId: ids[0] } });
  // Three were charged, one was refunded.
  expect(replay.month?.remaining).toBe(1_000 - 2);
});

test('a rebuild raises the counter of a month and never lowers it', async () => {
  const { redis } = stores;
  const { admission, views } = openViews(withLock(stores.redis, 'mine'));
  await views.lock('mine');
  const month = '2026-11';
  const clientId = `app_${randomUUID()}`;
  const counter = async () => redis.get(monthCounterKey(clientId, month));
  await admission.raiseCounter({ clientId, month, total: 3, since: 2, ofWatches: 0 });
  expect(await counter()).toBe('5');
  // A gateway of another version charges while the topics are read.
  await redis.incrby(monthCounterKey(clientId, month), 3);
  await admission.raiseCounter({ clientId, month, total: 3, since: 3, ofWatches: 0 });
  expect(await counter()).toBe('8');
  await views.releaseLock('mine');
});

test('the instant of a total tells which of several concurrent admissions it includes', async () => {
  const clientId = `app_${randomUUID()}`;
  const { admit } = makeAdmitter(stores.redis, Date.now);
  const limits = { requestsPerSecond: 100_000, requestsPerMonth: 100_000 };
  const instants: number[] = [];
  const totals: { monthTotal: number; asOfMs: number }[] = [];
  // Many within one millisecond, so that a timestamp alone would be shared.
  const ask = async () => {
    const { nowMs } = await admit({
      clientId,
      accountId: 'acc_1',
      limits,
      bucket: 'per-second',
      check: { seed: '1.00' },
    });
    instants.push(nowMs);
  };
  const look = async () => {
    for (const usage of await readRecent())
      if (usage.clientId === clientId)
        totals.push({ monthTotal: usage.monthTotal, asOfMs: Date.parse(usage.asOf) });
  };
  for (let wave = 0; wave < 10; wave++) {
    let isOver = false;
    const asking = Promise.all(Array.from({ length: 200 }, ask)).finally(() => {
      isOver = true;
    });
    while (!isOver) await look();
    await asking;
  }
  await look();
  expect(totals.length).toBeGreaterThan(0);
  for (const { monthTotal, asOfMs } of totals)
    expect(instants.filter((atMs) => atMs < asOfMs)).toHaveLength(monthTotal);
});

test('an admission with a broken key fails alone among those that share a pipeline', async () => {
  const { admit } = makeAdmitter(stores.redis, Date.now);
  const limits = { requestsPerSecond: 10, requestsPerMonth: 10 };
  const [sound, broken, other] = Array.from({ length: 3 }, () => `app_${randomUUID()}`);
  await stores.redis.set(`rate:{${broken}}:per-second`, 'not a list');
  const outcomes = await Promise.allSettled(
    [sound, broken, other].map((clientId = '') =>
      admit({ clientId, accountId: 'acc_1', limits, bucket: 'per-second', check: { seed: '1.00' } }),
    ),
  );
  expect(outcomes).toMatchObject([
    { value: { outcome: 'fresh', second: { remaining: 9 }, month: { remaining: 9 } } },
    { reason: { code: 'store-unavailable' } },
    { value: { outcome: 'fresh', second: { remaining: 9 }, month: { remaining: 9 } } },
  ]);
});

test('no total is read while the views are incomplete', async () => {
  const clientId = `app_${randomUUID()}`;
  const limits = { requestsPerSecond: 10, requestsPerMonth: 10 };
  const { admit } = makeAdmitter(stores.redis, Date.now);
  await admit({ clientId, accountId: 'acc_1', limits, bucket: 'per-second', check: { seed: '1.00' } });
  const marker = await stores.redis.getdel(GENERATION_KEY);
  await expect(readRecent()).rejects.toMatchObject({ code: 'view-rebuilding' });
  await stores.redis.set(GENERATION_KEY, marker ?? '');
});

test('a requested result is announced when it is first saved, and only then', async () => {
  const results = makeResults(stores.redis);
  const subscriber = await stores.connection.subscriber();
  const heard: string[] = [];
  await subscribe(subscriber, 'results:test', {
    onMessage: (id) => void heard.push(id),
    onGap: () => undefined,
  });
  const wanted = aResult();
  expect(await results.requestNotice('results:test', wanted.requestId, 60_000)).toBeUndefined();
  await results.saveIfAbsent(savingOf(aResult()));
  await results.saveIfAbsent(savingOf(wanted));
  await results.saveIfAbsent(savingOf(wanted));
  expect(await results.requestNotice('results:test', wanted.requestId, 60_000)).toBe(wanted.resultJson);
  await stores.redis.publish('results:test', 'the last');
  await waitUntil('the last notice', () => heard.includes('the last'));
  expect(heard).toEqual([`${wanted.requestId} ${wanted.resultJson}`, 'the last']);
});

test('a later poll with a shorter wait does not end the wait of an earlier one', async () => {
  const results = makeResults(stores.redis);
  const { requestId } = aResult();
  for (const forMs of [1_000, 25_000, 2_000]) await results.requestNotice('results:test', requestId, forMs);
  expect(await stores.redis.pttl(`wanted:${requestId}`)).toBeGreaterThan(20_000);
});

test('every save of a result notifies the waiting gateway, with the stored bytes if they are few', async () => {
  const results = makeResults(stores.redis);
  const subscriber = await stores.connection.subscriber();
  const replyChannel = replyChannelOf('test');
  const heard: string[] = [];
  await subscribe(subscriber, replyChannel, {
    onMessage: (message) => void heard.push(message),
    onGap: () => undefined,
  });
  const savingFor = (resultJson: string) => ({
    ...savingOf(aResult({ mode: 'sync', resultJson })),
    replyChannel,
  });
  const small = savingFor('{"a":"b c"}');
  const large = savingFor(JSON.stringify('x'.repeat(20_000)));
  await results.saveIfAbsent(small);
  await results.saveIfAbsent({ ...small, resultJson: '{"other":1}' });
  await results.saveIfAbsent(large);
  await stores.redis.publish(replyChannel, 'the last');
  await waitUntil('the last notice', () => heard.includes('the last'));
  const notice = `${small.requestId} {"a":"b c"}`;
  expect(heard).toEqual([notice, notice, large.requestId, 'the last']);
});
