import type { PartitionMetadata } from 'kafkajs';
import { type FairMessage, FairPartitioner, shardOf } from './fair-partitioner.ts';

const metadata = Array.from(
  { length: 24 },
  (_, partitionId) => ({ partitionId, leader: 1 }) as PartitionMetadata,
);
const send = (fair: FairPartitioner, accountId: string, partitionMetadata = metadata, value = '') =>
  fair.create()({
    topic: 't',
    partitionMetadata,
    message: { value, fairness: { accountId, partitionShare: 4 } } as FairMessage,
  });

test('a client always has the same share of distinct partitions', () => {
  const shard = shardOf('app_1', 4, 24);
  expect(new Set(shard).size).toBe(4);
  expect(shard.every((partition) => partition >= 0 && partition < 24)).toBe(true);
  expect(shardOf('app_1', 4, 24)).toEqual(shard);
  expect(new Set(shardOf('app_1', 24, 24)).size).toBe(24);
});

test('few clients share all of their partitions', () => {
  const shards = Array.from({ length: 200 }, (_, i) => shardOf(`app_${i}`, 4, 24).sort().join());
  expect(new Set(shards).size).toBeGreaterThan(190);
});

test('records go round the shard, and avoid a partition with a backlog', () => {
  const fair = new FairPartitioner();
  const shard = shardOf('app_1', 4, 24);
  const busy = shard[0] ?? 0;
  fair.observeLag(
    't',
    Array.from({ length: 24 }, (_, partition) => (partition === busy ? 1000 : 0)),
  );
  const sent = Array.from({ length: 300 }, () => send(fair, 'app_1'));
  expect(sent).not.toContain(busy);
  expect(new Set(sent)).toEqual(new Set(shard.slice(1)));
});

test('small records stay together, and parts of a batch go to all partitions of the shard at once', () => {
  const fair = new FairPartitioner();
  const small = Array.from({ length: 16 }, () => send(fair, 'acc_1', metadata, 'x'.repeat(500)));
  const parts = Array.from({ length: 4 }, () => send(fair, 'acc_2', metadata, 'x'.repeat(30_000)));
  expect(new Set(small).size).toBe(1);
  expect(new Set(parts)).toEqual(new Set(shardOf('acc_2', 4, 24)));
});

test('a record that names its partition goes there, and another has the one of its key', () => {
  const place = (message: FairMessage) =>
    new FairPartitioner().create()({ topic: 't', partitionMetadata: metadata, message });
  expect(place({ key: 'a', value: '', partition: 7 })).toBe(7);
  expect(place({ key: 'a', value: '' })).toBe(place({ key: 'a', value: 'other' }));
});

test('a partition without a leader is never chosen', () => {
  const fair = new FairPartitioner();
  const lost = shardOf('app_1', 4, 24)[1] ?? 0;
  const partly = metadata.map((m) => (m.partitionId === lost ? { ...m, leader: -1 } : m));
  expect(Array.from({ length: 100 }, () => send(fair, 'app_1', partly))).not.toContain(lost);
});
