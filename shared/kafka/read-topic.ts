import { randomUUID } from 'node:crypto';
import { type Admin, type KafkaMessage, Partitioners, type PartitionMetadata } from 'kafkajs';
import { describeError, ServiceError } from '#shared/errors.ts';
import { restartUnless } from './client.ts';
import type { SystemKafka } from './of-system.ts';
import { readOffsetsAt, readTopicOffsets } from './topic-offsets.ts';

export type TopicRecord = KafkaMessage;

export const READER_GROUP_PREFIX = 'rolecall.reader.';
/** A reader's group without members that is older than this belongs to a dead process. */
const STALE_GROUP_MS = 600_000;
const BYTES_PER_PARTITION_MAX = 4 * 1024 * 1024;

/** The rest of a partition: from the next offset to the end, exclusive. */
type Left = { next: number; readonly end: number };
type Bounds = { readonly low: number; readonly high: number };

type Reading = {
  readonly kafka: SystemKafka;
  readonly topic: string;
  readonly signal?: AbortSignal | undefined;
  /** One fetch asks for at most this many bytes; the broker sends the first record whatever its
   * size. */
  readonly bytesMax?: number;
  /** The offsets to read, by partition. */
  readonly plan: (admin: Admin, bounds: ReadonlyMap<number, Bounds>) => Promise<ReadonlyMap<number, Left>>;
  /** Takes the next records of a partition. If it throws, they are read again. Resolves to true if
   * it needs no more. */
  readonly take: (records: readonly KafkaMessage[], partition: number) => Promise<boolean>;
};

/**
 * Reads parts of a topic. kafkajs reads only as the member of a group, so it joins a separate
 * group, which never commits and is deleted afterwards. After a restart of the client it continues
 * at its position, so that no older record is taken after a newer one.
 *
 * @throws when the client gives up, or when `signal` aborts
 */
async function read({ kafka, topic, signal, bytesMax, plan, take }: Reading): Promise<void> {
  const admin = kafka.admin();
  const groupId = `${READER_GROUP_PREFIX}${Date.now()}.${randomUUID()}`;
  let isOver = false;
  const consumer = kafka.consumer({
    groupId,
    retry: restartUnless(() => isOver),
    sessionTimeout: 10_000,
    heartbeatInterval: 1_000,
    maxWaitTimeInMs: 100,
    maxBytesPerPartition: bytesMax ?? BYTES_PER_PARTITION_MAX,
    ...(bytesMax === undefined ? {} : { maxBytes: bytesMax }),
  });
  await admin.connect();
  try {
    const bounds = await readTopicOffsets(admin, topic);
    const left = await plan(admin, bounds);
    const isRead = () => left.values().every(({ next, end }) => next >= end);
    if (isRead()) return;
    const finished = Promise.withResolvers<void>();
    finished.promise.catch(() => undefined);
    signal?.addEventListener('abort', () => finished.reject(signal.reason), { once: true });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) finished.reject(payload.error);
    });
    // The batch's own last offset counts: records below the end may be compacted away.
    consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
      const place = left.get(partition);
      if (place) place.next = Math.max(place.next, Number(lastOffset) + 1);
      if (isRead()) finished.resolve();
    });
    // Before the first fetch of every join: partitions that have nothing to read are not read.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      const others = [...bounds.keys()].filter((partition) => !left.has(partition));
      if (others.length > 0) consumer.pause([{ topic, partitions: others }]);
      for (const [partition, { next }] of left) consumer.seek({ topic, partition, offset: String(next) });
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: 4,
      eachBatch: async ({ batch }) => {
        const from = left.get(batch.partition)?.next ?? Number.POSITIVE_INFINITY;
        const unread = batch.messages.filter(({ offset }) => Number(offset) >= from);
        if (await take(unread, batch.partition)) finished.resolve();
      },
    });
    await finished.promise;
  } finally {
    isOver = true;
    await consumer.disconnect().catch(() => undefined);
    await deleteReaderGroup(admin, groupId);
    await admin.disconnect();
  }
}

/** Deletes this reader's group and the groups of dead readers. Kafka refuses to delete a group with
 * members. */
async function deleteReaderGroup(admin: Admin, own: string): Promise<void> {
  const { groups } = await admin.listGroups().catch(() => ({ groups: [] }));
  const isStale = (id: string) =>
    id.startsWith(READER_GROUP_PREFIX) &&
    Number(id.slice(READER_GROUP_PREFIX.length).split('.')[0]) < Date.now() - STALE_GROUP_MS;
  const stale = groups.map(({ groupId }) => groupId).filter((id) => id === own || isStale(id));
  if (stale.length > 0) await admin.deleteGroups(stale).catch(() => undefined);
}

/**
 * Reads a topic to the end it had at the call, and returns that end: the next offset of each
 * partition.
 *
 * @throws when the client gives up, or when `signal` aborts
 */
export async function readTopic(options: {
  readonly kafka: SystemKafka;
  readonly topic: string;
  /** Called in offset order within a partition; the reader waits for it. If it throws, the records
   * are read again. */
  readonly apply: (records: readonly KafkaMessage[], partition: number) => Promise<void>;
  /** Where to begin, by partition; by default, or beyond the end of the topic, the beginning. */
  readonly from?: ReadonlyMap<number, number>;
  /** Instead: at the first record that was stamped then or later, epoch ms. */
  readonly sinceMs?: number;
  readonly signal?: AbortSignal;
}): Promise<ReadonlyMap<number, number>> {
  const { kafka, topic, apply, sinceMs, signal } = options;
  let ends: ReadonlyMap<number, number> = new Map();
  await read({
    ...{ kafka, topic, signal },
    async plan(admin, bounds) {
      ends = new Map([...bounds].map(([partition, { high }]) => [partition, high]));
      const from = sinceMs === undefined ? options.from : await readOffsetsAt(admin, topic, sinceMs);
      return new Map(
        [...bounds].map(([partition, { low, high }]) => {
          const begin = from?.get(partition) ?? low;
          return [partition, { next: begin > high ? low : Math.max(begin, low), end: high }];
        }),
      );
    },
    take: (records, partition) => apply(records, partition).then(() => false),
  });
  return ends;
}

type OneRecord = {
  readonly kafka: SystemKafka;
  readonly topic: string;
  readonly place: RecordPlace;
  readonly judge?: (record: KafkaMessage) => Judgement;
  readonly bytesMax: number;
  readonly timeoutMs: number;
};

/** Where a record is, or where the search for it begins: at the first record that was written at
 * `fromMs` or later to the partition of its key. */
type RecordPlace =
  | { readonly partition: number; readonly offset: number }
  | { readonly key: string; readonly fromMs: number };

/** Whether a record is the wanted one, whether it may be among the next ones, or whether it is not
 * there. */
type Judgement = 'wanted' | 'next' | 'none';

const partitionOf = Partitioners.DefaultPartitioner();

/**
 * Reads one record of a topic: the one at a place, or from there on the first that is wanted. That
 * takes a few round trips and the broker's `group.initial.rebalance.delay.ms`, so use it only for a
 * person's request.
 *
 * @param judge default: the record at the place is wanted
 * @returns undefined if the topic no longer has it, or does not have it yet
 * @throws ServiceError `broker-unavailable` after `timeoutMs`
 */
export async function readRecord({
  place,
  timeoutMs,
  judge = (record) => ('offset' in place && Number(record.offset) === place.offset ? 'wanted' : 'none'),
  ...options
}: OneRecord): Promise<KafkaMessage | undefined> {
  let found: KafkaMessage | undefined;
  try {
    await read({
      ...options,
      signal: AbortSignal.timeout(timeoutMs),
      async plan(admin, bounds) {
        const { partition, offset } = await startOf(admin, options.topic, place, bounds.size);
        const { low = 0, high = 0 } = bounds.get(partition) ?? {};
        return new Map(offset < low ? [] : [[partition, { next: offset, end: high }]]);
      },
      async take(records) {
        // The wanted one may have been deleted meanwhile.
        for (const record of records) {
          const judgement = judge(record);
          if (judgement === 'wanted') found = record;
          if (judgement !== 'next') return true;
        }
        return false;
      },
    });
  } catch (error) {
    const { topic } = options;
    throw new ServiceError(
      'broker-unavailable',
      `no record of ${topic} could be read in time: ${describeError(error).message}`,
    );
  }
  return found;
}

async function startOf(admin: Admin, topic: string, place: RecordPlace, partitionCount: number) {
  if ('offset' in place) return place;
  const partitionMetadata = Array.from({ length: partitionCount }, () => ({}) as PartitionMetadata);
  const message = { key: place.key, value: null };
  const partition = partitionOf({ topic, partitionMetadata, message });
  return { partition, offset: (await readOffsetsAt(admin, topic, place.fromMs)).get(partition) ?? 0 };
}
