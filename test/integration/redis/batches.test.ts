import { gunzipSync } from 'node:zlib';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeViewState } from '#shared/redis/view.ts';
import {
  BATCH_LIST_COUNT_MAX,
  type Batches,
  type BatchList,
  batchListKey,
  makeBatches,
  makeBatchList,
  unfinishedBatchesKey,
} from '#shared/stores/batches/batches.ts';
import { monthCounterKey } from '#shared/stores/checks/admit.ts';
import { replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { dayOf, makeUsageDays } from '#shared/stores/usage/usage-days.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { aBatchPartCompleted } from '../../support/builders/a-batch.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

// Scenario: the parts of batches are stored in any order and several times, in a database of a real
// Redis that only this file uses. Counts, lines and the end of a batch depend on the first copy of
// each part alone.

const APP = 'app_batches';
let connection: RedisConnection;
let batches: Batches;
let batchList: BatchList;

beforeAll(async () => {
  connection = await connectTestRedis(testConfig(7));
  batches = makeBatches(connection.redis);
  batchList = makeBatchList(connection.redis);
});

afterAll(async () => {
  await connection[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await connection.redis.flushdb();
  const kafka = { readTopic: async () => new Map<number, number>() };
  await replayTopics({ redis: connection.redis, kafka, now: Date.now, log: makeSilentLogger() });
});

/** Both parts of one batch. */
function twoParts(over: Partial<BatchPartCompleted> = {}): [BatchPartCompleted, BatchPartCompleted] {
  const first = aBatchPartCompleted(APP, over);
  return [first, { ...first, part: 1, firstIndex: 2, evaluatedAt: '2030-01-01T00:00:00.000Z' }];
}

const SEED = 'seed';

const acceptedOf = ({
  requestId,
  accountId,
  entryCount,
  partCount,
  acceptedAt,
  retainUntil,
}: BatchPartCompleted) => ({
  ...{ requestId, clientId: APP, accountId, entryCount, partCount, acceptedAt, retainUntil },
  roleIds: ['r'],
});

const linesAt = async (requestId: string, index: number): Promise<string | undefined> => {
  const found = await batches.readPart(requestId, index);
  return found && gunzipSync(found.gzip).toString();
};

test('the counts of a complete batch are kept as long as its lines, and those of an incomplete one a day longer', async () => {
  const [first, second] = twoParts();
  const keptMs = () => connection.redis.pttl(`batch:${first.requestId}`);
  await batches.savePart(first);
  expect(await keptMs()).toBeGreaterThan(DAY_MS);
  await batches.savePart(second);
  expect(await keptMs()).toBeLessThan(DAY_MS);
  await batches.savePart(second);
  expect(await keptMs()).toBeLessThan(DAY_MS);
});

test('a batch is pending until its last part is stored, and its counts are those of the stored parts', async () => {
  const [first, second] = twoParts();
  const { requestId, acceptedAt } = first;
  await batches.register(acceptedOf(first), true);
  const empty = { id: 'r', granted: 0, denied: 0, undetermined: 0 };
  const pending = { requestId, status: 'pending', entries: 4, done: 0, roles: [empty], acceptedAt };
  expect(await batches.readStatus(requestId)).toEqual(pending);
  expect(await batches.savePart(second)).toEqual({ isFirst: true, isComplete: false });
  expect(await batches.readStatus(requestId)).toMatchObject({ status: 'pending', done: 2 });
  expect(await batches.savePart(first)).toEqual({ isFirst: true, isComplete: true });
  expect(await batches.readStatus(requestId)).toEqual({
    ...pending,
    status: 'completed',
    done: 4,
    roles: [{ id: 'r', granted: 2, denied: 2, undetermined: 0 }],
    completedAt: second.evaluatedAt,
  });
});

test('a preview also counts the members who would gain or lose a role, from its registration on', async () => {
  const roles = [{ id: 'r', granted: 1, denied: 1, undetermined: 0, gained: 1, lost: 0 }];
  const [first, second] = twoParts({ previewDigest: 'as taken', roles });
  const { requestId } = first;
  await batches.begin({ ...acceptedOf(first), previewDigest: 'as taken' }, undefined, SEED);
  const empty = { id: 'r', granted: 0, denied: 0, undetermined: 0, gained: 0, lost: 0 };
  expect(await batches.readStatus(requestId)).toMatchObject({ roles: [empty] });
  await batches.begin({ ...acceptedOf(first), previewDigest: 'taken later' }, undefined, SEED);
  expect(await batches.readProgress(requestId)).toMatchObject({ previewDigest: 'as taken' });
  await batches.savePart({ ...second, roles: [{ ...empty, denied: 2, lost: 2 }] });
  await batches.savePart(first);
  await batches.savePart(first);
  expect(await batches.readStatus(requestId)).toMatchObject({
    status: 'completed',
    roles: [{ id: 'r', granted: 1, denied: 3, undetermined: 0, gained: 1, lost: 2 }],
  });
});

test('a second delivery of a part changes nothing and still reports the batch as complete', async () => {
  const [first, second] = twoParts();
  await batches.savePart(first);
  await batches.savePart(first);
  await batches.savePart(second);
  const stored = await batches.readStatus(first.requestId);
  const copy = { ...second, linesGzip: '', lineCount: 9, roles: [], evaluatedAt: '2031-01-01T00:00:00.000Z' };
  expect(await batches.savePart(copy)).toEqual({ isFirst: false, isComplete: true });
  expect(await batches.readStatus(first.requestId)).toEqual(stored);
  expect(await linesAt(first.requestId, 2)).toBe('{"index":0}\n{"index":1}\n');
});

test('lines are found by the index of their entry, and an unfinished entry has none', async () => {
  const [first, second] = twoParts();
  await batches.savePart(second);
  expect(await batches.readPart(first.requestId, 1)).toBeUndefined();
  expect(await batches.readPart(first.requestId, 3)).toMatchObject({ firstIndex: 2, lineCount: 2 });
  expect(await batches.readPart(first.requestId, 4)).toBeUndefined();
});

test('the entries of a part are refunded to their month once, and never below zero', async () => {
  const [first] = twoParts({ refundCount: 2, chargedMonth: '2026-11' });
  const counter = monthCounterKey(APP, '2026-11');
  await connection.redis.set(counter, 5);
  await batches.savePart(first);
  await batches.savePart(first);
  expect(await connection.redis.get(counter)).toBe('3');
  await batches.savePart({ ...first, part: 1, refundCount: 500 });
  expect(await connection.redis.get(counter)).toBe('0');
  // The daily totals count the same parts.
  const [day] = await makeUsageDays(connection.redis).read(APP, [dayOf(Date.parse(first.acceptedAt))]);
  expect(day).toMatchObject({ 'batch.completed': 4, granted: 2, denied: 2 });
});

const slotsTaken = () => connection.redis.zrange(unfinishedBatchesKey(APP), '0', '-1');

test('an accepted batch holds a slot of its app until its last part, and registering it again takes none', async () => {
  const [first, second] = twoParts();
  await batches.register(acceptedOf(first), true);
  expect(await slotsTaken()).toEqual([first.requestId]);
  expect(await batches.countUnfinished(Date.now())).toBe(1);
  await batches.savePart(first);
  await batches.savePart(second);
  await batches.register(acceptedOf(first), true);
  expect(await slotsTaken()).toEqual([]);
  expect(await batches.countUnfinished(Date.now())).toBe(0);
});

test('only the last part proves that a batch was accepted', async () => {
  const [first, second] = twoParts();
  await batches.savePart(first);
  expect(await slotsTaken()).toEqual([]);
  const [other, last] = twoParts();
  await batches.savePart(last);
  expect(await slotsTaken()).toEqual([other.requestId]);
  expect(await batches.abandon(10, 0)).toBe(1);
  expect(await batches.readStatus(first.requestId)).toMatchObject({ status: 'abandoned', done: 2 });
  expect(await batches.readStatus(other.requestId)).toMatchObject({ status: 'pending', done: 2 });
  await batches.savePart(second);
  expect(await batches.readStatus(first.requestId)).toMatchObject({ status: 'completed', done: 4 });
});

describe('a batch whose publishing was interrupted', () => {
  const MONTH = '2026-11';
  const counter = monthCounterKey(APP, MONTH);
  const charge = { month: MONTH, checksMax: 10 };
  const used = async () => Number(await connection.redis.get(counter));

  /** A batch charged and begun by a gateway that dies after publishing some of its parts. */
  async function begun() {
    const [first, second] = twoParts({ chargedMonth: MONTH });
    await connection.redis.set(counter, 4);
    expect(await batches.begin(acceptedOf(first), charge, SEED)).toBe(true);
    return { first, second, requestId: first.requestId };
  }

  test('is pending until the bound, and then abandoned and refunded once', async () => {
    const { requestId } = await begun();
    expect(await batches.abandon(10)).toBe(0);
    expect(await batches.readStatus(requestId)).toMatchObject({ status: 'pending' });
    expect(await batches.abandon(10, 0)).toBe(1);
    expect(await batches.readStatus(requestId)).toMatchObject({ status: 'abandoned', done: 0 });
    expect([await used(), await batches.abandon(10, 0), await used()]).toEqual([0, 0, 0]);
    expect(await slotsTaken()).toEqual([]);
  });

  test('keeps the results and the charge of the parts that were published', async () => {
    const { first, second, requestId } = await begun();
    await batches.savePart(first);
    await batches.abandon(10, 0);
    expect(await batches.readStatus(requestId)).toMatchObject({ status: 'abandoned', done: 2 });
    expect(await used()).toBe(2);
    // The whole batch had been published after all.
    await batches.savePart(second);
    expect(await batches.readStatus(requestId)).toMatchObject({ status: 'completed', done: 4 });
    expect(await used()).toBe(4);
  });

  test('is charged again and pending when it is published again, if the month has enough left', async () => {
    const { first, second, requestId } = await begun();
    await batches.savePart(first);
    await batches.abandon(10, 0);
    await connection.redis.set(counter, 9);
    expect(await batches.begin(acceptedOf(first), charge, SEED)).toBe(false);
    expect([await used(), await batches.readStatus(requestId)]).toMatchObject([9, { status: 'abandoned' }]);
    await connection.redis.set(counter, 8);
    expect(await batches.begin(acceptedOf(first), charge, SEED)).toBe(true);
    expect([await used(), await batches.readStatus(requestId)]).toMatchObject([10, { status: 'pending' }]);
    expect(await batches.abandon(10)).toBe(0);
    await batches.register(acceptedOf(first), true);
    await batches.savePart(second);
    expect([await used(), await batches.readStatus(requestId)]).toMatchObject([10, { status: 'completed' }]);
    expect(await batches.abandon(10, 0)).toBe(0);
  });

  test('leaves no data when it is withdrawn, and is not refunded by its abandonment', async () => {
    const { first, requestId } = await begun();
    await batches.withdraw({ ...first, seed: SEED });
    expect(await batches.abandon(10, 0)).toBe(0);
    expect([await used(), await batches.readStatus(requestId)]).toEqual([4, undefined]);
  });

  test('is not abandoned once it is accepted, however long it takes', async () => {
    const { first, requestId } = await begun();
    await batches.register(acceptedOf(first), true);
    expect(await batches.abandon(10, 0)).toBe(0);
    await batches.savePart(first);
    expect(await batches.abandon(10, 0)).toBe(0);
    expect([await used(), await batches.readStatus(requestId)]).toMatchObject([4, { status: 'pending' }]);
  });
});

test('parts that are stored after their retention keep no lines, are refunded once, and complete the batch', async () => {
  const ended = new Date(Date.now() - 1).toISOString();
  const [first, second] = twoParts({ refundCount: 1, chargedMonth: '2026-11', retainUntil: ended });
  await connection.redis.set(monthCounterKey(APP, '2026-11'), 5);
  const saved = [];
  for (const part of [first, first, second, second]) saved.push(await batches.savePart(part));
  expect(saved).toEqual([
    { isFirst: true, isComplete: false },
    { isFirst: false, isComplete: false },
    { isFirst: true, isComplete: true },
    { isFirst: false, isComplete: true },
  ]);
  expect(await batches.readStatus(first.requestId)).toMatchObject({ status: 'completed', done: 4 });
  expect(await linesAt(first.requestId, 0)).toBeUndefined();
  expect(await connection.redis.pttl(`batch:${first.requestId}`)).toBeGreaterThan(0);
  expect(await connection.redis.get(monthCounterKey(APP, '2026-11'))).toBe('3');
});

/** Registers a batch whose results are kept for this long from now. */
async function registerFor(ms: number, requestId: string, clientId = APP): Promise<void> {
  const retainUntil = new Date(Date.now() + ms).toISOString();
  const { accountId, entryCount, partCount, acceptedAt } = aBatchPartCompleted(clientId);
  const batch = {
    requestId,
    clientId,
    accountId,
    entryCount,
    partCount,
    acceptedAt,
    retainUntil,
    roleIds: ['r'],
  };
  await batches.register(batch, true);
}

test('the list of an app holds its own batches only, newest first, in pages', async () => {
  for (const [place, id] of ['a', 'b', 'c'].entries()) await registerFor(60_000 + place, id);
  await registerFor(70_000, 'other', 'app_another');
  const idsOf = async (page: { countMax: number; before?: string }) =>
    (await batchList.list(APP, page)).map(({ requestId }) => requestId);
  expect(await idsOf({ countMax: 2 })).toEqual(['c', 'b']);
  expect(await idsOf({ countMax: 2, before: 'b' })).toEqual(['a']);
  expect(await idsOf({ countMax: 2, before: 'a' })).toEqual([]);
  await batches.withdraw({ requestId: 'b', clientId: APP, seed: SEED });
  expect(await idsOf({ countMax: 9 })).toEqual(['c', 'a']);
});

test('a listed batch shows its status, and an unregistered batch is listed from its first stored part on', async () => {
  const [first, second] = twoParts();
  await batches.savePart(first);
  const { roles: _, ...pending } = (await batches.readStatus(first.requestId)) ?? { roles: [] };
  expect(await batchList.list(APP, { countMax: 9 })).toEqual([pending]);
  await batches.savePart(second);
  expect(await batchList.list(APP, { countMax: 9 })).toMatchObject([
    { status: 'completed', done: 4, completedAt: second.evaluatedAt },
  ]);
});

test('the list of an app is bounded and leaves out batches whose results have expired', async () => {
  const { redis } = connection;
  await redis.zadd(batchListKey(APP), Date.now() - 1, 'ended');
  for (let i = 0; i < BATCH_LIST_COUNT_MAX; i++) await registerFor(60_000 + i, `batch-${i}`);
  expect(await redis.zscore(batchListKey(APP), 'ended')).toBeNull();
  await registerFor(90_000, 'newest');
  const listed = await redis.zrange(batchListKey(APP), '0', '-1');
  expect([listed.length, listed[0], listed.at(-1)]).toEqual([BATCH_LIST_COUNT_MAX, 'batch-1', 'newest']);
  expect(await redis.pttl(batchListKey(APP))).toBeGreaterThan(80_000);
});

test('without the generation marker no part is stored and no status is read', async () => {
  await makeViewState(connection.redis).invalidate();
  const [first] = twoParts();
  await expect(batches.savePart(first)).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(batches.readStatus(first.requestId)).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(batches.readPart(first.requestId, 0)).rejects.toMatchObject({ code: 'view-rebuilding' });
});
