import { randomUUID } from 'node:crypto';
import { type Admin, type Kafka, type KafkaMessage, Partitioners, type PartitionMetadata } from 'kafkajs';
import { describeError, ServiceError } from '#shared/errors.ts';
import { deleteReaderGroup, READER_GROUP_PREFIX } from './read-topic.ts';
import { readOffsetsAt, readTopicOffsets } from './topic-offsets.ts';

const SESSION_TIMEOUT_MS = 10_000;

/** The position of a record. */
type RecordPosition = { readonly partition: number; readonly offset: number };

type Options = {
  readonly kafka: Kafka;
  readonly topic: string;
  /** One fetch asks for at most this many bytes; the broker sends the first record whatever its size. */
  readonly bytesMax: number;
  readonly timeoutMs: number;
};

const partitionOf = Partitioners.DefaultPartitioner();

/** Whether a record is the wanted one, whether it may be among the next ones, or whether it is not there. */
export type Judgement = 'wanted' | 'next' | 'none';

/**
 * Reads one record of a topic by its position.
 *
 * @returns undefined if the topic no longer has it, or does not have it yet
 * @throws ServiceError `broker-unavailable` after `timeoutMs`
 */
export const readRecord = ({ partition, offset, ...options }: Options & RecordPosition) =>
  scan(
    options,
    async () => ({ partition, offset }),
    (record) => (Number(record.offset) === offset ? 'wanted' : 'none'),
  );

/**
 * Reads the first wanted record among those that were written at `fromMs` or later to the partition of a key.
 *
 * @returns undefined if the topic has none
 * @throws ServiceError `broker-unavailable` after `timeoutMs`
 */
export const findRecord = ({
  key,
  fromMs,
  judge,
  ...options
}: Options & {
  readonly key: string;
  readonly fromMs: number;
  readonly judge: (record: KafkaMessage) => Judgement;
}) =>
  scan(
    options,
    async (admin, partitionCount) => {
      const partitionMetadata = Array.from({ length: partitionCount }, () => ({}) as PartitionMetadata);
      const partition = partitionOf({
        topic: options.topic,
        partitionMetadata,
        message: { key, value: null },
      });
      return { partition, offset: (await readOffsetsAt(admin, options.topic, fromMs)).get(partition) ?? 0 };
    },
    judge,
  );

/**
 * kafkajs reads only as the member of a group, so it joins a separate group, which never commits and is deleted afterwards.
 * That takes a few round trips and the broker's `group.initial.rebalance.delay.ms`, so use it only for a person's request.
 */
async function scan(
  { kafka, topic, bytesMax, timeoutMs }: Options,
  startOf: (admin: Admin, partitionCount: number) => Promise<RecordPosition>,
  judge: (record: KafkaMessage) => Judgement,
): Promise<KafkaMessage | undefined> {
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
    const { partition, offset } = await startOf(admin, offsets.size);
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
          eachBatch: async ({ batch, resolveOffset }) => {
            if (batch.partition !== partition) return;
            // The wanted one may have been deleted meanwhile.
            for (const record of batch.messages.filter((one) => Number(one.offset) >= offset)) {
              const judgement = judge(record);
              if (judgement !== 'next') return resolve(judgement === 'wanted' ? record : undefined);
              if (Number(record.offset) + 1 >= bounds.high) return resolve(undefined);
              resolveOffset(record.offset);
            }
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
