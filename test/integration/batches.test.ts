import { gunzipSync } from 'node:zlib';
import type { BatchPartCompleted } from '#shared/contracts/batch.ts';
import { monthCounterKey } from '#shared/redis/admit.ts';
import { type Batches, makeBatches, unfinishedBatchesKey } from '#shared/redis/batches.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeViewState } from '#shared/redis/view.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { openViews } from '#shared/views/open-views.ts';
import { rebuildViews } from '#shared/views/rebuild-views.ts';
import { aBatchPartCompleted } from '../support/a-batch.ts';
import { connectTestRedis, testConfig } from '../support/connections.ts';

// Scenario: the parts of batches are stored in a real Redis of which this file owns one database, in any order and
// several times. Counts, lines and the end of a batch follow from the first copy of each part alone.

const APP = 'app_batches';
let connection: RedisConnection;
let batches: Batches;

beforeAll(async () => {
  connection = await connectTestRedis(testConfig(7));
  batches = makeBatches(connection.redis);
});

afterAll(async () => {
  await connection[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await connection.redis.flushdb();
  const kafka = { readTopic: async () => new Map<number, number>() };
  await rebuildViews({ ...openViews(connection.redis), kafka, now: Date.now, log: makeSilentLogger() });
});

/** Both parts of one batch. */
function twoParts(over: Partial<BatchPartCompleted> = {}): [BatchPartCompleted, BatchPartCompleted] {
  const first = aBatchPartCompleted(APP, over);
  return [first, { ...first, part: 1, firstIndex: 2, evaluatedAt: '2030-01-01T00:00:00.000Z' }];
}

const linesAt = async (requestId: string, index: number): Promise<string | undefined> => {
  const found = await batches.readPart(requestId, index);
  return found && gunzipSync(found.gzip).toString();
};

test('a batch is pending until its last part is stored, and its counts are those of the stored parts', async () => {
  const [first, second] = twoParts();
  const { requestId, entryCount, partCount, acceptedAt, retainUntil } = first;
  const roleIds = ['r'];
  await batches.register({
    requestId,
    clientId: APP,
    entryCount,
    partCount,
    acceptedAt,
    retainUntil,
    roleIds,
  });
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

test('a second delivery of a part changes nothing and still tells that the batch is complete', async () => {
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

test('lines are found by the place of an entry, and nothing is found for one that is not finished', async () => {
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
});

test('a batch takes a slot of its app until its last part, also if it is registered after that', async () => {
  const [first, second] = twoParts();
  const unfinished = () => connection.redis.zrange(unfinishedBatchesKey(APP), '0', '-1');
  await batches.savePart(first);
  expect(await unfinished()).toEqual([first.requestId]);
  expect(await batches.countUnfinished(Date.now())).toBe(1);
  await batches.savePart(second);
  await batches.register({ ...first, roleIds: ['r'] });
  expect(await unfinished()).toEqual([]);
  expect(await batches.countUnfinished(Date.now())).toBe(0);
});

test('a part that is stored after the end of its retention is not kept and gives its entries back once', async () => {
  const ended = new Date(Date.now() - 1).toISOString();
  const [first] = twoParts({ refundCount: 2, chargedMonth: '2026-11', retainUntil: ended });
  await connection.redis.set(monthCounterKey(APP, '2026-11'), 5);
  await batches.savePart(first);
  await batches.savePart(first);
  expect(await batches.readStatus(first.requestId)).toBeUndefined();
  expect(await connection.redis.get(monthCounterKey(APP, '2026-11'))).toBe('3');
});

test('without the generation marker no part is stored and no status is read', async () => {
  await makeViewState(connection.redis).invalidate();
  const [first] = twoParts();
  await expect(batches.savePart(first)).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(batches.readStatus(first.requestId)).rejects.toMatchObject({ code: 'view-rebuilding' });
  await expect(batches.readPart(first.requestId, 0)).rejects.toMatchObject({ code: 'view-rebuilding' });
});
