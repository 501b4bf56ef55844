import { randomUUID } from 'node:crypto';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { readTopicOffsets } from './topic-offsets.ts';

/** A record as it stands in a topic. */
export type TopicRecord = KafkaMessage;

const GROUP_PREFIX = 'rolecall.reader.';
/** A reader's group that is older than this and has no members belongs to a process that died. */
const STALE_GROUP_MS = 600_000;

type Options = {
  readonly kafka: Kafka;
  readonly topic: string;
  /** Called in offset order within a partition; the reader waits for it. */
  readonly apply: (records: readonly KafkaMessage[], partition: number) => Promise<void>;
  readonly signal?: AbortSignal;
};

/**
 * Reads a topic from its beginning to the end it had at the call.
 *
 * It joins a group of its own that never commits, so a restart of the client begins anew: `apply` must bear
 * records a second time.
 *
 * @throws when the client gives up, or when `signal` aborts
 */
export async function readTopic({ kafka, topic, apply, signal }: Options): Promise<void> {
  const admin = kafka.admin();
  const groupId = `${GROUP_PREFIX}${Date.now()}.${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: 10_000,
    heartbeatInterval: 1_000,
    maxWaitTimeInMs: 500,
    maxBytesPerPartition: 4 * 1024 * 1024,
  });
  await admin.connect();
  try {
    const offsets = await readTopicOffsets(admin, topic);
    const goals = new Map(
      [...offsets].filter(([, { low, high }]) => high > low).map(([p, { high }]) => [p, high]),
    );
    if (goals.size === 0) return;
    const reached = (partition: number, next: number) => {
      if (next >= (goals.get(partition) ?? 0)) goals.delete(partition);
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
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      partitionsConsumedConcurrently: 4,
      eachBatch: async ({ batch }) => apply(batch.messages, batch.partition),
    });
    await finished;
  } finally {
    await consumer.disconnect().catch(() => undefined);
    await sweep(admin, groupId);
    await admin.disconnect();
  }
}

/** Deletes this reader's group and those of readers that died. One with members refuses, so a mistake is harmless. */
async function sweep(admin: ReturnType<Kafka['admin']>, own: string): Promise<void> {
  const { groups } = await admin.listGroups().catch(() => ({ groups: [] }));
  const isStale = (id: string) =>
    id.startsWith(GROUP_PREFIX) &&
    Number(id.slice(GROUP_PREFIX.length).split('.')[0]) < Date.now() - STALE_GROUP_MS;
  const stale = groups.map(({ groupId }) => groupId).filter((id) => id === own || isStale(id));
  if (stale.length > 0) await admin.deleteGroups(stale).catch(() => undefined);
}
