import type { Message } from 'kafkajs';
import { startReachCheck } from '#shared/check-reach.ts';
import { RECORD_OVERHEAD_BYTES, type Topic, type TopicSpec } from '#shared/contracts/topic.ts';
import { ALL_TOPICS, withRetention } from '#shared/contracts/topics.ts';
import { ServiceError } from '#shared/errors.ts';
import type { ServiceContext } from '#shared/service-context.ts';
import { waitFor, within } from '#shared/wait-for.ts';
import type { CommonConfig } from '../config.ts';
import { BatchingProducer } from './batching-producer.ts';
import { makeKafka, probeBroker } from './client.ts';
import { type ConsumeOptions, startConsumer } from './consumer/start-consumer.ts';
import { type FairMessage, type Fairness, FairPartitioner } from './fair-partitioner.ts';
import { makeKafkaInstruments } from './instruments.ts';
import type { SystemKafka } from './of-system.ts';
import { readRecord, readTopic } from './read-topic.ts';
import { verifyTopics } from './topics-admin.ts';
import { inProducerSpan } from './trace-messages.ts';

/** How long a consumer tries to publish before it holds its record and retries. */
const PUBLISH_TIMEOUT_MS = 60_000;
/** A broker that is away does not answer a disconnect. */
const DISCONNECT_MS_MAX = 2_000;

export type PublishOptions = {
  /** The trace that the message belongs to; it travels as a header. */
  readonly traceparent?: string;
  /** Sends the message to the client's own subset of the partitions, least lag first. */
  readonly fairness?: Fairness;
  /** Whether the message was just built from validated values: it then skips the schema. */
  readonly isValidated?: boolean;
  /** Whether the record's bytes were counted when its request was admitted. */
  readonly isCounted?: boolean;
  /** Default 60 s. */
  readonly timeoutMs?: number;
};

export type KafkaConnection = Awaited<ReturnType<typeof connectKafka>>;

/** The options of a reader, whose client the connection adds. */
type WithoutKafka<R extends (options: never) => unknown> = Omit<Parameters<R>[0], 'kafka'>;

/** A command has no `/livez`. */
type Context = Pick<ServiceContext, 'log' | 'metrics' | 'fail' | 'readiness' | 'stopping'> &
  Partial<Pick<ServiceContext, 'liveness'>>;

type CountBytes = (clientId: string, bytes: number) => void;

type ConnectOptions = {
  /** Default true. */
  readonly mustHaveTopics?: boolean;
  /** Called with the bytes of each record that a client app made the system write. */
  readonly countBytes?: CountBytes;
};

/**
 * Connects to the cluster. Waits for a broker at most `dependencyWaitMs`, and logs that it waits.
 *
 * @throws ServiceError `broker-unavailable` if no broker answered, `config-invalid` if the topics
 *   differ from their declaration
 */
export async function connectKafka(
  config: CommonConfig,
  service: string,
  context: Context,
  { mustHaveTopics = true, countBytes = () => undefined }: ConnectOptions = {},
) {
  const kafka = makeKafka(config.kafka, `rolecall-${service}`, context.log);
  const admin = kafka.admin({ retry: { retries: 2 } });
  const fair = new FairPartitioner();
  const producer = kafka.producer({
    createPartitioner: fair.create,
    allowAutoTopicCreation: false,
    retry: { retries: 0 },
    ...(config.kafka.brokers.length > 1 ? { metadataMaxAge: 3_000 } : {}),
  });
  // Known from the start on, so that an alert sees processes that wait for the broker.
  context.readiness.add('broker', () => 'the broker has not answered yet');
  await waitFor(
    'the broker',
    'broker-unavailable',
    () => probeBroker(config.kafka),
    config.dependencyWaitMs,
    context,
  );
  await admin.connect();
  const { clusterId } = await admin.describeCluster();
  await using scope = new AsyncDisposableStack();
  if (mustHaveTopics) {
    await verifyTopics(admin, withRetention(ALL_TOPICS, config.retention), context.log);
    const { ask } = scope.use(await connectAsking(kafka));
    const reach = scope.use(startReachCheck('the broker', ask));
    context.readiness.add('broker', reach.check);
  }
  await producer.connect();
  const instruments = makeKafkaInstruments(context.metrics);
  const batching = new BatchingProducer(producer, context.log, instruments.countFailedPublish);
  instruments.watchPending(() => batching.pendingCount);

  const publishRecord = (topic: string, record: Message) => batching.send(topic, record, PUBLISH_TIMEOUT_MS);
  const drainMs = drainMsOf(config.shutdownTimeoutMs);
  const connection = { kafka, admin, instruments, config, context, publishRecord, drainMs };
  const whole = scope.move();

  return {
    /**
     * Resolves when all in-sync replicas have the message.
     *
     * @throws ServiceError `broker-unavailable` (surely not written), `publish-unknown`,
     *   `overloaded`, `message-too-large`, `message-unreadable` (it does not match its own schema: a
     *   bug)
     */
    publish: makePublish(batching, countBytes),
    /** Writes a record unchanged, for example a dead-lettered record that is sent again. */
    publishRecord,
    /**
     * Erases a document from a compacted topic: compaction removes every record of its key.
     *
     * @throws ServiceError as `publish` does
     */
    erase: (topic: Pick<TopicSpec, 'name'>, key: string, timeoutMs = PUBLISH_TIMEOUT_MS): Promise<void> =>
      batching.send(topic.name, { key, value: null }, timeoutMs),
    /** Joins a group and processes its records until disposal. */
    consume: <M>(options: ConsumeOptions<M>): Promise<AsyncDisposable> => startConsumer(connection, options),
    readTopic: (options: WithoutKafka<typeof readTopic>) => readTopic({ ...options, kafka }),
    readRecord: (options: WithoutKafka<typeof readRecord>) => readRecord({ ...options, kafka }),
    admin,
    clusterId,
    observeLag: (topic: string, lagByPartition: readonly number[]) => fair.observeLag(topic, lagByPartition),
    async [Symbol.asyncDispose](): Promise<void> {
      await within(drainMs / 2, batching.drain());
      await within(
        DISCONNECT_MS_MAX,
        Promise.all([whole.disposeAsync(), producer.disconnect(), admin.disconnect()]),
      );
    },
  };
}

const ASKED_TOPIC = ALL_TOPICS.reduce((least, topic) =>
  topic.partitionCount < least.partitionCount ? topic : least,
).name;

/**
 * Connects a client that asks a broker the smallest question that kafkajs has: to describe the
 * cluster it asks for every partition of every topic, which made 400 KiB of garbage a second in an
 * idle process.
 *
 * It asks nothing else. kafkajs forgets all topics but the one that it is asked for, so that other
 * requests of the same client, in progress then, find that a topic has no partitions: a group that
 * has finished every record would seem to have finished none.
 */
export async function connectAsking(kafka: Pick<SystemKafka, 'admin'>) {
  const admin = kafka.admin({ retry: { retries: 2 } });
  await admin.connect();
  return {
    ask: () => admin.fetchTopicMetadata({ topics: [ASKED_TOPIC] }),
    [Symbol.asyncDispose]: () => admin.disconnect(),
  };
}

function makePublish(batching: BatchingProducer, countBytes: CountBytes) {
  return async <M>(topic: Topic<M>, message: M, options: PublishOptions = {}): Promise<void> => {
    const { traceparent: parent, fairness, isValidated, isCounted, timeoutMs } = options;
    // Checked before writing as well as when reading: a message that its consumers would refuse is
    // not written.
    const parsed = isValidated
      ? ({ success: true, data: message } as const)
      : topic.schema.safeParse(message);
    if (!parsed.success)
      throw new ServiceError('message-unreadable', `a message does not match ${topic.name}`);
    const value = JSON.stringify(parsed.data);
    const valueBytes = Buffer.byteLength(value);
    if (valueBytes > topic.messageBytesMax)
      throw new ServiceError('message-too-large', `a message is larger than ${topic.name} allows`);
    const key = topic.keyOf(message);
    const partition = topic.partitionOf?.(parsed.data);
    const record = (traceparent?: string): FairMessage => ({
      key,
      value,
      ...(traceparent === undefined ? {} : { headers: { traceparent } }),
      ...(fairness ? { fairness } : {}),
      ...(partition === undefined ? {} : { partition }),
    });
    const send = (traceparent?: string) =>
      batching.send(topic.name, record(traceparent), timeoutMs ?? PUBLISH_TIMEOUT_MS, topic.isUrgent);
    // A message without a trace, such as an hourly total, starts none.
    await (parent === undefined ? send() : inProducerSpan(topic.name, key, parent, send));
    const clientId = topic.isOfSystem || isCounted ? undefined : clientIdOf(message);
    if (clientId !== undefined) countBytes(clientId, key.length + valueBytes + RECORD_OVERHEAD_BYTES);
  };
}

const clientIdOf = (message: unknown): string | undefined =>
  (message as { readonly clientId?: string }).clientId;

/** The share of a stop that running records may take. A record that is not finished by then is left
 * to the next owner. */
const drainMsOf = (shutdownTimeoutMs: number): number => Math.max(500, Math.round(shutdownTimeoutMs * 0.7));
