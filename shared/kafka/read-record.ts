import { randomUUID } from 'node:crypto';
import type { Kafka, KafkaMessage } from 'kafkajs';
import { describeError, ServiceError } from '#shared/errors.ts';
import { deleteReaderGroup, READER_GROUP_PREFIX } from './read-topic.ts';
import { readTopicOffsets } from './topic-offsets.ts';

const SESSION_TIMEOUT_MS = 10_000;

/** The position of a record. */
type RecordPosition = { readonly partition: number; readonly offset: number };

type Options = RecordPosition & {
  readonly kafka: Kafka;
  readonly topic: string;
  /** One fetch asks for at most so many bytes; the broker sends the first record whatever its size. */
  readonly bytesMax: number;
  readonly timeoutMs: number;
};

/**
 * Reads one record of a topic.
 *
 * kafkajs reads only as the member of a group, so it joins a separate group, which never commits and is deleted afterwards.
 * That takes a few round trips and the broker's `group.initial.rebalance.delay.ms`, so use it only for a person's request.
 *
 * @returns undefined if the topic no longer has it, or does not have it yet
 * @throws ServiceError `broker-unavailable` after `timeoutMs`
 */
export async function readRecord({
  kafka,
  topic,
  partition,
  offset,
  bytesMax,
  timeoutMs,
}: Options): Promise<KafkaMessage | undefined> {
  const admin = kafka.admin();
  const groupId = `${READER_GROUP_PREFIX}${Date.now()}.${randomUUID()}`;
  const consumer = kafka.consumer({
    groupId,
    sessionTimeout: SESSION_TIMEOUT_MS,
    maxWaitTimeInMs: 100,
    maxBytesPerPartition: bytesMax,
    maxBytes: bytesMax,
  });
  await admin.connect();
  let timer: NodeJS.Timeout | undefined;
  try {
    const offsets = await readTopicOffsets(admin, topic);
    const bounds = offsets.get(partition);
    if (!bounds || offset < bounds.low || offset >= bounds.high) return undefined;
    const others = [...offsets.keys()].filter((other) => other !== partition);
    const found = new Promise<KafkaMessage | undefined>((resolve, reject) => {
      timer = setTimeout(
        () => reject(new ServiceError('broker-unavailable', `no record of ${topic} came in time`)),
        timeoutMs,
      );
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(unreadable(topic, payload.error)));
      consumer.on(consumer.events.GROUP_JOIN, () => {
        if (others.length > 0) consumer.pause([{ topic, partitions: others }]);
        consumer.seek({ topic, partition, offset: String(offset) });
      });
      const run = async () => {
        await consumer.connect();
        await consumer.subscribe({ topics: [topic], fromBeginning: true });
        await consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          eachBatch: async ({ batch }) => {
            if (batch.partition !== partition) return;
            // The first record from there on: the wanted one may have been deleted meanwhile.
            const [first] = batch.messages.filter((record) => Number(record.offset) >= offset);
            if (first) resolve(Number(first.offset) === offset ? first : undefined);
          },
        });
      };
      run().catch((error: unknown) => reject(unreadable(topic, error)));
    });
    return await found;
  } finally {
    clearTimeout(timer);
    await consumer.disconnect().catch(() => undefined);
    await deleteReaderGroup(admin, groupId);
    await admin.disconnect();
  }
}

const unreadable = (topic: string, error: unknown): ServiceError =>
  new ServiceError('broker-unavailable', `a record of ${topic} could not be read: ${describeError(error)}`);
