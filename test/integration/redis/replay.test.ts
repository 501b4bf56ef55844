import { randomUUID } from 'node:crypto';
import { batchCompleted } from '#shared/contracts/batches/batch.ts';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { checkRequestedBulk } from '#shared/contracts/checks/check-requested.ts';
import { usage } from '#shared/contracts/usage/usage.ts';
import { webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { VIEW_KEYS } from '#shared/redis/fence.ts';
import { makeAdmitter, readMonthUsed } from '#shared/stores/checks/admit.ts';
import { savingOf } from '#shared/stores/checks/results.ts';
import { completeViews, startKeepingViews } from '#shared/stores/replay/keep-views.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { makeSavePositions } from '#shared/stores/replay/positions.ts';
import { replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { dayOf, hourOf } from '#shared/stores/usage/usage-days.ts';
import { aBatchPartCompleted } from '../../support/builders/a-batch.ts';
import { aCheckCompleted, aWebhookOfCheck } from '../../support/builders/a-check-completed.ts';
import { aCheckRequested } from '../../support/builders/a-check-requested.ts';
import { aCheckResult } from '../../support/builders/a-check-result.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: Redis is wiped, and a replay is looked at while it runs: what is answered and saved
// between the opening and the return of the results, and what a replay that ended there leaves.

const stores = testStores(14);
let views: ReturnType<typeof openViews>;
const month = new Date().toISOString().slice(0, 7);
const RESULT_TOPICS: readonly string[] = [checkCompleted.name, webhookRequested.name, batchCompleted.name];
const isRebuilding = { code: 'view-rebuilding' };

beforeAll(() => {
  views = openViews(stores.redis);
});

beforeEach(async () => {
  await stores.redis.flushdb();
  await stores.replay();
});

/** Wipes Redis and replays; calls `look` when the system is open and no result is back. */
async function replayAndLook(look: () => Promise<void>): Promise<void> {
  await stores.redis.flushdb();
  let looking: Promise<void> | undefined;
  await replayTopics({
    ...stores.forReplay(),
    kafka: {
      async readTopic(options) {
        if (RESULT_TOPICS.includes(options.topic)) looking ??= look();
        await looking;
        return stores.kafka.readTopic(options);
      },
    },
  });
}

test('the views do not count as complete while a wiped Redis is filled again', async () => {
  const seen: boolean[] = [];
  await using keeper = await startKeepingViews(
    {
      ...stores.forReplay(),
      kafka: {
        async readTopic(options) {
          seen.push(keeper.areComplete());
          return stores.kafka.readTopic(options);
        },
      },
    },
    new AbortController().signal,
  );
  await waitUntil('the views to be complete', async () => keeper.areComplete());
  await stores.redis.flushdb();
  await waitUntil('a replay', async () => seen.length > 0);
  await waitUntil('the views to be complete again', async () => keeper.areComplete());
  expect(new Set(seen)).toEqual(new Set([false]));
});

test('between the opening and the return of the results polls find nothing yet, and nobody else saves an old result', async () => {
  const [old, mailed] = [aCheckCompleted('app_replay'), aWebhookOfCheck('app_replay')];
  const part = aBatchPartCompleted('app_replay');
  await stores.kafka.publish(checkCompleted, old);
  await stores.kafka.publish(webhookRequested, mailed);
  await stores.kafka.publish(batchCompleted, part);
  const { results, batches, webhookBodies } = views;
  await replayAndLook(async () => {
    expect(await views.views.readState()).toBe('open');
    expect(await results.readMany([old.requestId])).toEqual([undefined]);
    // A caller that must not take that for an answer does not get one.
    await expect(results.read(old.requestId)).rejects.toMatchObject(isRebuilding);
    await expect(webhookBodies.keep(mailed, Date.now())).rejects.toMatchObject(isRebuilding);
    const again = savingOf({ ...old, resultJson: '{"n":2}' });
    await expect(results.saveIfAbsent(again)).rejects.toMatchObject(isRebuilding);
    await expect(batches.savePart(part)).rejects.toMatchObject(isRebuilding);
    const positions = [{ topic: checkCompleted.name, partition: 0, offset: 1 }];
    await expect(makeSavePositions(stores.redis)(positions)).rejects.toMatchObject(isRebuilding);
    const fresh = aCheckCompleted('app_replay', { resultJson: '{"n":3}' });
    expect(await results.saveIfAbsent(savingOf(fresh))).toBe('{"n":3}');
    expect(await results.read(fresh.requestId)).toBe('{"n":3}');
  });
  expect(await views.views.readState()).toBe('complete');
  expect(await results.saveIfAbsent(savingOf({ ...old, resultJson: '{"n":2}' }))).toBe('{"n":1}');
  expect(await results.read(mailed.requestId)).toBe('{"n":1}');
  expect((await batches.savePart(part)).isFirst).toBe(false);
});

test('a replay that ended after the opening is done again, also on a Redis that lost its last writes meanwhile', async () => {
  const old = aCheckCompleted('app_replay');
  await stores.kafka.publish(checkCompleted, old);
  const died = new Error('the process was killed');
  await expect(replayAndLook(() => Promise.reject(died))).rejects.toBe(died);
  expect(await views.views.readState()).toBe('open');
  await stores.redis.set(VIEW_KEYS.run, 'of-another-server');
  expect(await views.views.readState()).toBe('missing');
  expect(await completeViews(stores.forReplay())).toBe(true);
  expect(await views.results.read(old.requestId)).toBe('{"n":1}');
  expect(await views.views.readState()).toBe('complete');
});

test('a reader that fails ends the others', async () => {
  const signals: AbortSignal[] = [];
  const failing = replayTopics({
    ...stores.forReplay(),
    kafka: {
      async readTopic({ topic, signal }) {
        if (topic === usage.name) throw new Error('the broker is away');
        if (signal) signals.push(signal);
        return new Promise(() => undefined);
      },
    },
  });
  await expect(failing).rejects.toThrow('the broker is away');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
});

test('figures and refunds that the totals have are not given again, and those that they cannot have are', async () => {
  const clientId = `app_${randomUUID()}`;
  const [counted, later] = [await accept(clientId), await accept(clientId)];
  await complete(counted);
  await publishTotals(clientId);
  const last = await accept(clientId);
  await complete(last);
  await stores.redis.flushdb();
  await stores.replay();
  // Three charges. The refund of the first is in the total, that of the last is given now.
  expect(await readMonthUsed(stores.redis, clientId, month)).toBe(1);
  const failed = async () => {
    const [day = {}] = await views.usageDays.read(clientId, [dayOf(Date.now())]);
    const [hour = {}] = await views.usageDays.readHours(clientId, [hourOf(Date.now())]);
    return [day, hour].map((figures) =>
      Object.entries(figures).reduce((sum, [name, n]) => sum + (name.startsWith('poll.failed') ? n : 0), 0),
    );
  };
  expect(await failed()).toEqual([2, 2]);
  // One whose result came after the total: in doubt the charge stays.
  await stores.kafka.publish(checkCompleted, later);
  await stores.redis.flushdb();
  await stores.replay();
  expect(await readMonthUsed(stores.redis, clientId, month)).toBe(1);
  expect(await failed()).toEqual([2, 2]);
});

/** Accepts a check as a gateway does; answers the message that its result will be, undecided. */
async function accept(clientId: string): Promise<CheckCompleted> {
  const { admit } = makeAdmitter(stores.redis, Date.now);
  const { nowMs } = await admit({
    ...{ clientId, accountId: 'acc_1', bucket: 'per-second' },
    limits: { requestsPerSecond: 1_000, requestsPerMonth: 1_000 },
    check: { seed: '1.00' },
  });
  const about = { requestId: randomUUID(), acceptedAt: new Date(nowMs).toISOString(), chargedMonth: month };
  await stores.kafka.publish(checkRequestedBulk, aCheckRequested(clientId, about));
  return aCheckCompleted(clientId, {
    ...{ ...about, decided: false },
    resultJson: aCheckResult({ status: 'failed' }),
  });
}

async function complete(result: CheckCompleted): Promise<void> {
  await stores.kafka.publish(checkCompleted, result);
  await views.results.saveIfAbsent(savingOf(result));
}

async function publishTotals(clientId: string): Promise<void> {
  for (const appHour of await views.usageFigures.listRecent(Date.now()))
    if (appHour.clientId === clientId)
      await stores.kafka.publish(usage, await views.usageFigures.read(appHour));
}
