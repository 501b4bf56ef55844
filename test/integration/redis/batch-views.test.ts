import { gunzipSync } from 'node:zlib';
import { batchCompleted, checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import { unfinishedBatchesKey } from '#shared/stores/batches/batches.ts';
import { claimKey, monthCounterKey } from '#shared/stores/checks/admit.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { dayOf, makeUsageDays } from '#shared/stores/usage/usage-days.ts';
import { aBatchPart, aBatchPartCompleted } from '../../support/builders/a-batch.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: two batches are in a real Kafka, one of them finished, and the real Redis that had them
// is wiped. A rebuild puts back lines, counts, slots, idempotency claims and the charges of every
// entry.

const APP = 'app_batch_views';
const MONTH = '2026-11';
const stores = testStores(10);

const { replay } = stores;

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
  for (const part of sent) await stores.kafka.publish(checkRequestedBatch, part);
  const done = aBatchPartCompleted(APP, {
    requestId,
    acceptedAt,
    retainUntil,
    chargedMonth: MONTH,
    refundCount: 1,
  });
  // The second delivery of a part differs; the first one still wins.
  for (const part of [done, { ...done, refundCount: 2, linesGzip: '' }, { ...done, part: 1, firstIndex: 2 }])
    await stores.kafka.publish(batchCompleted, part);

  await stores.redis.flushdb();
  await replay();
  const { batches } = openViews(stores.redis);
  expect(await batches.readStatus(requestId)).toMatchObject({
    status: 'completed',
    done: 4,
    roles: [{ id: 'r', granted: 2, denied: 2, undetermined: 0 }],
  });
  const lines = await batches.readPart(requestId, 1);
  expect(gunzipSync(lines?.gzip ?? '').toString()).toBe('{"index":0}\n{"index":1}\n');
  const other = sent[2]?.requestId ?? '';
  expect(await batches.readStatus(other)).toMatchObject({ status: 'pending', entries: 4, done: 0 });
  expect(await stores.redis.zrange(unfinishedBatchesKey(APP), '0', '-1')).toEqual([other]);
  expect(await stores.redis.hget(claimKey(APP, idempotency.keyHash), 'id')).toBe(requestId);
  // Six entries were charged, and two of the finished ones were refunded.
  expect(await stores.redis.get(monthCounterKey(APP, MONTH))).toBe('4');
  const [day] = await makeUsageDays(stores.redis).read(APP, [dayOf(Date.parse(acceptedAt))]);
  expect(day).toMatchObject({ 'batch.completed': 4, granted: 2, denied: 2 });
});

test('a batch whose gateway ended before its last part has an open claim: a retry publishes it again, under its id', async () => {
  const cut = aBatchPart(APP, { idempotency: { keyHash: 'key-of-a-cut-batch', bodyHash: 'body' } });
  const claim = () => stores.redis.hmget(claimKey(APP, 'key-of-a-cut-batch'), 'state', 'id');
  await stores.kafka.publish(checkRequestedBatch, cut);
  await stores.redis.flushdb();
  await replay();
  expect(await claim()).toEqual(['claimed', cut.requestId]);

  await stores.kafka.publish(checkRequestedBatch, { ...cut, part: 1, firstIndex: 2 });
  await stores.redis.flushdb();
  await replay();
  expect(await claim()).toEqual(['published', cut.requestId]);
});
