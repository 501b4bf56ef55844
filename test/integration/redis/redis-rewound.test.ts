import { randomUUID } from 'node:crypto';
import { audit } from '#shared/contracts/apps/audit.ts';
import { clientApp } from '#shared/contracts/apps/client-app.ts';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import {
  type WebhookAttempted,
  type WebhookRetry,
  webhookAttempted,
  webhookRequested,
} from '#shared/contracts/webhooks/webhook.ts';
import { VIEW_KEYS } from '#shared/redis/fence.ts';
import { withLock } from '#shared/redis/script.ts';
import { makeViewState } from '#shared/redis/view.ts';
import { makeAdmitter, readMonthUsed } from '#shared/stores/checks/admit.ts';
import { savingOf } from '#shared/stores/checks/results.ts';
import { completeViews } from '#shared/stores/replay/keep-views.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { makeSavePositions } from '#shared/stores/replay/positions.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import type { Dependencies } from '../../../services/result-store/dependencies.ts';
import { makeResultHandler } from '../../../services/result-store/project/handle-result.ts';
import { aCheckCompleted, aWebhookOfCheck } from '../../support/builders/a-check-completed.ts';
import { aCheckRequested } from '../../support/builders/a-check-requested.ts';
import { aClientApp } from '../../support/builders/a-client-app.ts';
import { partially } from '../../support/builders/partially.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: a Redis comes back with its marker and without its last writes, as after a failover.
// The tests restore an earlier snapshot into a database of this file's own, and make it look like
// another run of the server.

const stores = testStores(14);
let views: ReturnType<typeof openViews>;
const later = () => new Date(Date.now() + 3_600_000).toISOString();
const month = new Date().toISOString().slice(0, 7);

beforeAll(() => {
  views = openViews(stores.redis);
});

beforeEach(async () => {
  await stores.redis.flushdb();
  await makeWhole();
});

const makeWhole = () =>
  completeViews({ redis: stores.redis, kafka: stores.kafka, now: Date.now, log: makeSilentLogger() });

/** Takes a snapshot of Redis; the returned function restores it. */
async function remember(): Promise<() => Promise<void>> {
  const { redis } = stores;
  const kept = await Promise.all(
    (await redis.keys('*')).map(async (key) => ({
      key,
      bytes: await redis.dumpBuffer(key),
      ttlMs: Math.max(0, await redis.pttl(key)),
    })),
  );
  return async () => {
    await redis.flushdb();
    for (const { key, bytes, ttlMs } of kept) if (bytes) await redis.restore(key, ttlMs, bytes);
  };
}

/** Makes Redis look like another server that has these data. */
const becomeAnotherRun = () => stores.redis.set(VIEW_KEYS.run, 'of-another-server');

const aResult = (over: Partial<CheckCompleted> = {}) => aCheckCompleted('app_rewound', over);

/** Accepts a check as a gateway does: charged in Redis, then published. */
async function accept(clientId: string): Promise<string> {
  const { admit } = makeAdmitter(stores.redis, Date.now);
  const limits = { requestsPerSecond: 1_000, requestsPerMonth: 1_000 };
  const keyHash = randomUUID();
  const claim = { keyHash, bodyHash: 'b' };
  const { nowMs } = await admit({
    clientId,
    accountId: 'acc_1',
    limits,
    bucket: 'per-second',
    check: { seed: '1.00', claim },
  });
  const requestId = randomUUID();
  const charged = { chargedMonth: month, idempotency: claim, acceptedAt: new Date(nowMs).toISOString() };
  await stores.kafka.publish(checkRequestedBulk, aCheckRequested(clientId, { requestId, ...charged }));
  return requestId;
}

/** Handles a result as a result-store does: the result is saved, and its offset is noted and
 * committed. */
async function complete(result: CheckCompleted): Promise<void> {
  await stores.kafka.publish(checkCompleted, result);
  await views.results.saveIfAbsent(savingOf(result));
  await notePositions();
}

async function notePositions(): Promise<void> {
  const ends = await stores.kafka.admin.fetchTopicOffsets(checkCompleted.name);
  await makeSavePositions(stores.redis)(
    ends.map(({ partition, high }) => ({ topic: checkCompleted.name, partition, offset: Number(high) })),
  );
}

test('a result whose offset was committed comes back, and nothing is read or written before that', async () => {
  const [kept, lost] = [aResult(), aResult({ resultJson: '{"n":2}' })];
  await complete(kept);
  const rewind = await remember();
  await complete(lost);
  await rewind();
  await becomeAnotherRun();
  expect(await views.views.readState()).toBe('missing');
  await expect(views.results.read(kept.requestId)).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(accept('app_rewound')).rejects.toMatchObject({ code: 'view-rebuilding' });
  expect(await makeWhole()).toBe(true);
  expect(await views.results.readMany([kept.requestId, lost.requestId])).toEqual(['{"n":1}', '{"n":2}']);
});

test('the result of a sync check that Redis lost comes back, although its evaluator had saved it', async () => {
  const handle = makeResultHandler(partially<Dependencies>({ results: views.results, now: Date.now }));
  const [kept, handled, unread] = [1, 2, 3].map((n) => aResult({ mode: 'sync', resultJson: `{"n":${n}}` }));
  if (!kept || !handled || !unread) throw new Error('three results');
  const saveAndPublish = async (result: CheckCompleted) => {
    await views.results.saveIfAbsent(savingOf(result));
    await stores.kafka.publish(checkCompleted, result);
  };
  const noteHandled = async (result: CheckCompleted) => {
    await handle(result);
    await notePositions();
  };
  await saveAndPublish(kept);
  await noteHandled(kept);
  const rewind = await remember();
  await saveAndPublish(handled);
  await noteHandled(handled);
  await saveAndPublish(unread);
  await rewind();
  // Where nothing shows that Redis has lost writes, the record itself finds it.
  await handle(unread);
  expect(await views.results.has(unread.requestId)).toBe(true);
  await becomeAnotherRun();
  await makeWhole();
  const ids = [kept, handled, unread].map(({ requestId }) => requestId);
  expect(await views.results.readMany(ids)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
});

test('a check that Redis lost is charged once, and its refund is given once', async () => {
  const clientId = `app_${randomUUID()}`;
  const accepted = await Promise.all(Array.from({ length: 5 }, () => accept(clientId)));
  const rewind = await remember();
  accepted.push(...(await Promise.all(Array.from({ length: 7 }, () => accept(clientId)))));
  const undecided = { clientId, decided: false, chargedMonth: month };
  await complete(aResult({ ...undecided, requestId: accepted[0] ?? '' }));
  await complete(aResult({ ...undecided, requestId: accepted[11] ?? '' }));
  expect(await readMonthUsed(stores.redis, clientId, month)).toBe(10);
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  expect(await readMonthUsed(stores.redis, clientId, month)).toBe(10);
  // The refunds of the last minutes are in no total: after another loss the charges stay.
  await becomeAnotherRun();
  await makeWhole();
  expect(await readMonthUsed(stores.redis, clientId, month)).toBe(12);
});

test('an app whose first check of the hour was lost is charged for that check', async () => {
  const clientId = `app_${randomUUID()}`;
  const rewind = await remember();
  await accept(clientId);
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  expect(await readMonthUsed(stores.redis, clientId, month)).toBe(1);
});

test('a nonce that was issued before the loss is refused, whether or not its use was lost', async () => {
  const { admit } = makeAdmitter(stores.redis, Date.now);
  const clientId = `app_${randomUUID()}`;
  const limits = { requestsPerSecond: 1_000, requestsPerMonth: 1_000 };
  const use = async (nonce: string, issuedAtMs: number) => {
    const check = { seed: '1.00', nonce: { nonce, issuedAtMs } };
    return (await admit({ clientId, accountId: 'acc_1', limits, bucket: 'per-second', check })).outcome;
  };
  // The database of this file is complete since it was made: nonces must be younger.
  const issuedAtMs = Number(await stores.redis.get(VIEW_KEYS.noncesNotBefore)) + 1;
  const rewind = await remember();
  expect(await use('used', issuedAtMs)).toBe('fresh');
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  expect([await use('used', issuedAtMs), await use('unused', issuedAtMs)]).toEqual([
    'nonce-expired',
    'nonce-expired',
  ]);
  expect(await use('used', Date.now() + 1_000)).toBe('fresh');
});

test('a written document and its audit entry come back', async () => {
  const clientId = `app_${randomUUID()}`;
  const app = aClientApp(clientId, { accountId: clientId });
  await stores.kafka.publish(clientApp, app);
  await views.clientApps.project(app);
  const rewind = await remember();
  const changed = { ...app, version: 2, suspended: true };
  await stores.kafka.publish(clientApp, changed);
  await views.clientApps.project(changed);
  const entry = {
    accountId: clientId,
    clientId,
    actor: 'a',
    action: 'app-suspended',
    subject: 's',
    kind: 'security' as const,
    at: new Date().toISOString(),
  };
  await stores.kafka.publish(audit, entry);
  await views.auditTrail.record(entry);
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  expect((await views.clientApps.read(clientId))?.suspended).toBe(true);
  expect(await views.auditTrail.ofAccount(clientId, 10)).toHaveLength(1);
});

test('a deferred webhook is delivered even if Redis lost the release of its claim', async () => {
  const delivery: WebhookRetry = {
    requestId: randomUUID(),
    clientId: 'app_rewound',
    accountId: 'acc_rewound',
    callbackUrl: 'https://example.com/',
    acceptedAt: new Date().toISOString(),
    retainUntil: later(),
    attemptCount: 0,
    deferralCount: 0,
    dueAt: new Date().toISOString(),
    resendCount: 0,
  };
  expect(await views.deliveries.claim(delivery, 'first/0/1', Date.now())).toBe('claimed');
  const rewind = await remember();
  await views.deliveries.releaseClaim(delivery, 'first/0/1', later(), Date.now());
  const logged: WebhookAttempted = {
    requestId: randomUUID(),
    clientId: 'app_rewound',
    accountId: 'acc_rewound',
    resendCount: 0,
    attempt: 1,
    at: new Date().toISOString(),
    state: 'exhausted',
    class: 'timeout',
    durationMs: 1,
    callbackUrl: 'https://example.com/',
    acceptedAt: new Date().toISOString(),
    retainUntil: later(),
  };
  await stores.kafka.publish(webhookAttempted, logged);
  await views.deliveries.record(logged);
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  expect((await views.deliveries.read(logged.requestId))?.state).toBe('exhausted');
  expect(await views.deliveries.claim(delivery, 'second/0/1', Date.now())).toBe('taken');
  const deferred = { ...delivery, deferralCount: 1 };
  expect(await views.deliveries.claim(deferred, 'again/0/1', Date.now())).toBe('claimed');
});

test('the bodies of lost events come back: of watches, tests and quota alerts', async () => {
  const at = new Date().toISOString();
  const events = ['watch_', 'test_', 'quota_'].map((prefix) => ({
    requestId: `${prefix}${randomUUID()}`,
    ...{ clientId: 'app_rewound', accountId: 'acc_1', callbackUrl: 'https://example.com/' },
    resultJson: `{"of":"${prefix}"}`,
    ...{ acceptedAt: at, retainUntil: later(), dueAt: at },
    ...{ attemptCount: 0, deferralCount: 0, resendCount: 0 },
  }));
  const rewind = await remember();
  for (const event of events) {
    await stores.kafka.publish(webhookRequested, event);
    await views.results.saveIfAbsent(savingOf(event));
  }
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  const bodies = await views.results.readMany(events.map(({ requestId }) => requestId));
  expect(bodies).toEqual(events.map(({ resultJson }) => resultJson));
});

test('a webhook that lost its body with its retention near its end keeps it until it is delivered', async () => {
  const check = aWebhookOfCheck('app_rewound', { retainUntil: new Date(Date.now() + 1_000).toISOString() });
  const rewind = await remember();
  await stores.kafka.publish(webhookRequested, check);
  await views.results.saveIfAbsent(savingOf(check));
  await rewind();
  await becomeAnotherRun();
  await makeWhole();
  expect(await stores.redis.pttl(`result:${check.requestId}`)).toBeGreaterThan(3_600_000);
});

test('lost writes behind a connection that stayed open are detected at the next commit, also after one that failed', async () => {
  const calls = { fail: false };
  const redis = new Proxy(stores.redis, {
    get: (target, name) =>
      calls.fail && name === 'evalsha'
        ? () => Promise.reject(new Error('the connection is closed'))
        : Reflect.get(target, name),
  });
  const save = makeSavePositions(redis);
  const at = (offset: number) => [{ topic: 'any', partition: 0, offset }];
  await save(at(10));
  const rewind = await remember();
  await save(at(20));
  calls.fail = true;
  await expect(save(at(21))).rejects.toMatchObject({ code: 'store-unavailable' });
  calls.fail = false;
  await rewind();
  await expect(save(at(21))).rejects.toMatchObject({ code: 'view-rebuilding' });
  expect(await views.views.readState()).toBe('missing');
  await makeWhole();
  await save(at(21));
  expect(await views.views.readState()).toBe('complete');
});

test('a rebuild that began on another server does not finish on this one', async () => {
  await stores.redis.flushdb();
  await views.views.readState();
  await views.views.lock('mine');
  await becomeAnotherRun();
  await views.views.readState();
  const locked = makeViewState(withLock(stores.redis, 'mine'));
  for (const step of [locked.open, locked.finish])
    await expect(step()).rejects.toMatchObject({ code: 'view-rebuilding' });
});
