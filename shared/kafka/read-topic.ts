import { randomUUID } from 'node:crypto';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { restartUnless } from './client.ts';
import { readOffsetsAt, readTopicOffsets } from './topic-offsets.ts';

/** A record of a topic. */
export type TopicRecord = KafkaMessage;

export const READER_GROUP_PREFIX = 'rolecall.reader.';
/** A reader's group without members that is older than this belongs to a dead process. */
const STALE_GROUP_MS = 600_000;

type Options = {
  readonly kafka: Kafka;
  readonly topic: string;
  /** Called in offset order within a partition; the reader waits for it. If it throws, the records are read again. */
  readonly apply: (records: readonly KafkaMessage[], partition: number) => Promise<void>;
  /** Where to begin, by partition; by default, or beyond the end of the topic, the beginning. */
  readonly from?: ReadonlyMap<number, number>;
  /** Instead: at the first record that was stamped then or later, epoch ms. */
  readonly sinceMs?: number;
  readonly signal?: AbortSignal;
};

/**
 * Reads a topic to the end it had at the call, and returns that end: the next offset of each partition.
 *
 * It joins a separate group that never commits. After a restart of the client it continues at its position, so that no
 * older record is applied after a newer one.
 *
 * @throws when the client gives up, or when `signal` aborts
 */
export async function readTopic({
  kafka,
  topic,
  apply,
  from: given,
  sinceMs,
  signal,
}: Options): Promise<ReadonlyMap<number, number>> {
  const admin = kafka.admin();
  const groupId = `${READER_GROUP_PREFIX}${Date.now()}.${randomUUID()}`;
  let isOver = false;
  const consumer = kafka.consumer({
    groupId,
    retry: restartUnless(() => isOver),
    sessionTimeout: 10_000,
    heartbeatInterval: 1_000,
    maxWaitTimeInMs: 500,
    maxBytesPerPartition: 4 * 1024 * 1024,
  });
  await admin.connect();
  try {
    const offsets = await readTopicOffsets(admin, topic);
    const ends = new Map([...offsets].map(([partition, { high }]) => [partition, high]));
    const from = sinceMs === undefined ? given : await readOffsetsAt(admin, topic, sinceMs);
    const next = new Map(
      [...offsets].map(([partition, { low, high }]) => {
        const begin = from?.get(partition) ?? low;
        return [partition, begin > high ? low : Math.max(begin, low)];
      }),
    );
    const goals = new Map([...ends].filter(([partition, high]) => high > (next.get(partition) ?? 0)));
    if (goals.size === 0) return ends;
    const reached = (partition: number, offset: number) => {
      if (offset >= (goals.get(partition) ?? 0)) goals.delete(partition);
      return goals.size === 0;
    };
    const finished = new Promise<void>((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        if (!payload.restart) reject(payload.error);
      });
      // The batch's own last offset counts: records below the end may be compacted away.
      consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
        if (reached(payload.partition, Number(payload.lastOffset) + 1)) resolve();
      });
    });
    finished.catch(() => undefined);
    // Before the first fetch of every join: partitions that have nothing to read are not read.
    consumer.on(consumer.events.GROUP_JOIN, () => {
      for (const [partition, offset] of next) consumer.seek({ topic, partition, offset: String(offset) });
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: 4,
      eachBatch: async ({ batch }) => {
        const begin = next.get(batch.partition) ?? 0;
        const unread = batch.messages.filter(({ offset }) => Number(offset) >= begin);
        await apply(unread, batch.partition);
        next.set(batch.partition, Math.max(begin, Number(batch.lastOffset()) + 1));
      },
    });
    await finished;
    return ends;
  } finally {
    isOver = true;
    await consumer.disconnect().catch(() => undefined);
    await deleteReaderGroup(admin, groupId);
    await admin.disconnect();
  }
}

/** Deletes this reader's group and the groups of dead readers. Kafka refuses to delete a group with members. */
export async function deleteReaderGroup(admin: ReturnType<Kafka['admin']>, own: string): Promise<void> {
  const { groups } = await admin.listGroups().catch(() => ({ groups: [] }));
  const isStale = (id: string) =>
    id.startsWith(READER_GROUP_PREFIX) &&
    Number(id.slice(READER_GROUP_PREFIX.length).split('.')[0]) < Date.now() - STALE_GROUP_MS;
  const stale = groups.map(({ groupId }) => groupId).filter((id) => id === own || isStale(id));
  if (stale.length > 0) await admin.deleteGroups(stale).catch(() => undefined);
}
