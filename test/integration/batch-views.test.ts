import { gunzipSync } from 'node:zlib';
import { batchCompleted, checkRequestedBatch } from '#shared/contracts/batch.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { claimKey, monthCounterKey } from '#shared/redis/admit.ts';
import { unfinishedBatchesKey } from '#shared/redis/batches.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { openViews } from '#shared/views/open-views.ts';
import { rebuildViews } from '#shared/views/rebuild-views.ts';
import { aBatchPart, aBatchPartCompleted } from '../support/a-batch.ts';
import { connectTestKafka, connectTestRedis, testConfig } from '../support/connections.ts';

// Scenario: two batches stand in a real Kafka, one of them finished, and the real Redis that had them is wiped.
// A rebuild puts back lines, counts, slots, idempotency claims and the charges of every entry.

const APP = 'app_batch_views';
const MONTH = '2026-11';
let connection: RedisConnection;
let kafka: KafkaConnection;

const rebuild = () =>
  rebuildViews({ ...openViews(connection.redis), kafka, now: Date.now, log: makeSilentLogger() });

beforeAll(async () => {
  const config = testConfig(10);
  connection = await connectTestRedis(config);
  kafka = await connectTestKafka(config);
});

afterAll(async () => {
  await kafka[Symbol.asyncDispose]();
  await connection[Symbol.asyncDispose]();
});

test('a wiped Redis gets the batches back: lines, counts, slots, claims and charges', async () => {
  const idempotency = { keyHash: 'key-of-a-batch', bodyHash: 'body' };
  const common = { chargedMonth: MONTH, idempotency };
  const first = aBatchPart(APP, common);
  const { requestId, acceptedAt, retainUntil } = first;
  const sent = [
    first,
    { ...first, part: 1, firstIndex: 2 },
    aBatchPart(APP, { chargedMonth: MONTH, partCount: 1 }),
  ];
  for (const part of sent) await kafka.publish(checkRequestedBatch, part);
  const done = aBatchPartCompleted(APP, {
    requestId,
    acceptedAt,
    retainUntil,
    chargedMonth: MONTH,
    refundCount: 1,
  });
  // The second delivery of a part differs, and the first one wins again.
  for (const part of [done, { ...done, refundCount: 2, linesGzip: '' }, { ...done, part: 1, firstIndex: 2 }])
    await kafka.publish(batchCompleted, part);

  await connection.redis.flushdb();
  await rebuild();
  const { batches } = openViews(connection.redis);
  expect(await batches.readStatus(requestId)).toMatchObject({
    status: 'completed',
    done: 4,
    roles: [{ id: 'r', granted: 2, denied: 2, undetermined: 0 }],
  });
  const lines = await batches.readPart(requestId, 1);
  expect(gunzipSync(lines?.gzip ?? '').toString()).toBe('{"index":0}\n{"index":1}\n');
  const other = sent[2]?.requestId ?? '';
  expect(await batches.readStatus(other)).toMatchObject({ status: 'pending', entries: 4, done: 0 });
  expect(await connection.redis.zrange(unfinishedBatchesKey(APP), '0', '-1')).toEqual([other]);
  expect(await connection.redis.hget(claimKey(APP, idempotency.keyHash), 'id')).toBe(requestId);
  // Six entries were charged, and two of the finished ones were refunded.
  expect(await connection.redis.get(monthCounterKey(APP, MONTH))).toBe('4');
});
