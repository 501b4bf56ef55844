import type { Admin, Message } from 'kafkajs';
import type { CommonConfig } from '#shared/config.ts';
import { ALL_TOPICS } from '#shared/contracts/all-topics.ts';
import { deadLetterSpecOf, type Topic } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';
import type { ServiceContext } from '#shared/lifecycle.ts';
import { unlessAborted, waitFor, within } from '#shared/wait-for.ts';
import { startReachWatch } from '#shared/watch-reach.ts';
import { BatchingProducer } from './batching-producer.ts';
import { makeKafka, probeBroker } from './client.ts';
import { makeDeadLetter } from './dead-letter.ts';
import { type FairMessage, type Fairness, FairPartitioner, type PartitionRange } from './fair-partitioner.ts';
import { makeKafkaInstruments } from './instruments.ts';
import { settleBeforeJoin } from './mend-kafkajs.ts';
import { readTopic } from './read-topic.ts';
import { verifyTopics } from './topics-admin.ts';
import { inProducerSpan } from './trace-messages.ts';
import { startProgressWatch } from './watch-progress.ts';
import { WindowConsumer } from './window-consumer.ts';
import { type GiveUp, type Handler, makeLookAtRecord, makeWorkRecord } from './work-record.ts';

/** How long a consumer tries to hand a message on before it holds its record and begins again. */
const PUBLISH_TIMEOUT_MS = 60_000;
/** A broker that is away does not say goodbye. */
const DISCONNECT_MS_MAX = 2_000;
const SCHEMA_HEADER = 'rolecall-schema';
const FETCH_WAIT_MS = 250;

export type PublishOptions = {
  /** The trace that the message belongs to; it travels as a header. */
  readonly traceparent?: string;
  /** Sends the message to the client's own share of the partitions, least loaded first. */
  readonly fairness?: Fairness;
  /** Whether the message was just made of values that were validated: then it is not looked through once more. */
  readonly isValidated?: boolean;
  /** Default 60 s. */
  readonly timeoutMs?: number;
};

export type ConsumeOptions<M> = {
  readonly groupId: string;
  readonly topics: readonly Topic<M>[];
  /** Records worked at once, 1 to 10 000. */
  readonly window: number;
  readonly handle: Handler<M>;
  readonly giveUp?: GiveUp<M>;
  /** For a topic of delayed work: when a message is due, epoch ms by `now`. */
  readonly due?: { readonly dueAtOf: (message: M) => number; readonly now: () => number };
  /** How long the broker may wait for data. Short where partitions are paused and resumed often. Default 250 ms. */
  readonly fetchWaitMs?: number;
  /** Called when the group has shared its partitions out anew. */
  readonly onAssignment?: () => void;
};

export type KafkaConnection = AsyncDisposable & {
  /**
   * Resolves when all in-sync replicas have the message.
   *
   * @throws ServiceError `broker-unavailable` (surely not written), `publish-unknown`, `overloaded`,
   *   `message-too-large`, `message-unreadable` (it does not match its own schema: a bug)
   */
  readonly publish: <M>(topic: Topic<M>, message: M, options?: PublishOptions) => Promise<void>;
  /** Writes a record as it is: for what is not a message of ours, such as a dead letter that is sent again. */
  readonly publishRecord: (topic: string, record: Message) => Promise<void>;
  /** Joins the group and works its records until disposal; see `WindowConsumer` and `makeWorkRecord`. */
  readonly consume: <M>(options: ConsumeOptions<M>) => Promise<AsyncDisposable>;
  /** Reads a whole topic once; see `readTopic`. */
  readonly readTopic: (options: Omit<Parameters<typeof readTopic>[0], 'kafka'>) => Promise<void>;
  readonly admin: Admin;
  readonly observeLag: (topic: string, lagByPartition: readonly number[]) => void;
  /** Messages that wait for the broker. */
  readonly pendingCount: () => number;
};

/** A command has no liveness that anybody asks for. */
type Context = Pick<ServiceContext, 'log' | 'metrics' | 'fail' | 'readiness' | 'stopping'> &
  Partial<Pick<ServiceContext, 'liveness'>>;

/**
 * Connects to the cluster: waits for a broker within `dependencyWaitMs`, with a message.
 *
 * @throws ServiceError `broker-unavailable` when none came, `config-invalid` when the topics are not as declared
 */
export async function connectKafka(
  config: CommonConfig,
  service: string,
  context: Context,
  { mustHaveTopics = true } = {},
): Promise<KafkaConnection> {
  const kafka = makeKafka(config.kafka, `rolecall-${service}`, context.log);
  const admin = kafka.admin({ retry: { retries: 2 } });
  const fair = new FairPartitioner();
  const producer = kafka.producer({
    createPartitioner: fair.create,
    allowAutoTopicCreation: false,
    retry: { retries: 0 },
    ...(config.kafka.brokers.length > 1 ? { metadataMaxAge: 3_000 } : {}),
  });
  await waitFor('the broker', () => probeBroker(config.kafka), config.dependencyWaitMs, context);
  await admin.connect();
  if (mustHaveTopics) await verifyTopics(admin, ALL_TOPICS);
  await producer.connect();
  const instruments = makeKafkaInstruments(context.metrics);
  const batching = new BatchingProducer(producer, context.log, instruments.countFailedPublish);
  instruments.watchPending(() => batching.pendingCount);
  const brokerWatch = startReachWatch('the broker', () => admin.describeCluster());
  context.readiness.add('broker', brokerWatch.check);
  const publish = makePublish(batching);

  const consume = async <M>(options: ConsumeOptions<M>): Promise<AsyncDisposable> => {
    const stop = new AbortController();
    const topics = new Map(options.topics.map((topic) => [topic.name, topic]));
    const source = kafka.consumer({
      groupId: options.groupId,
      sessionTimeout: config.kafka.sessionTimeoutMs,
      heartbeatInterval: config.kafka.heartbeatIntervalMs,
      maxWaitTimeInMs: options.fetchWaitMs ?? FETCH_WAIT_MS,
      maxBytesPerPartition: 256 * 1024,
      metadataMaxAge: 60_000,
    });
    const log = context.log.child({ group: options.groupId });
    const group = instruments.ofGroup(options.groupId, [...topics.keys()]);
    const consumer = new WindowConsumer<M>(source, {
      topics: [...topics.keys()],
      window: options.window,
      log,
      fail: context.fail,
      onAssignment: () => {
        group.onAssignment();
        if (consumer.partitionCount === 0)
          log.warn({ topics: [...topics.keys()] }, 'no partition is left: more consumers than partitions');
        options.onAssignment?.();
      },
      onCrash: group.onCrash,
      readCommitted: async () => {
        const found = await admin.fetchOffsets({ groupId: options.groupId, topics: [...topics.keys()] });
        return new Map(
          found.flatMap(({ topic, partitions }) =>
            partitions.map(({ partition, offset }) => [`${topic}/${partition}`, Number(offset)] as const),
          ),
        );
      },
      now: options.due?.now ?? Date.now,
      look: makeLookAtRecord(topics, options.due?.dueAtOf),
      work: makeWorkRecord<M>({
        groupId: options.groupId,
        topics,
        handle: options.handle,
        giveUp: options.giveUp,
        deadLetter: async (record, at, error) => {
          const topic = topics.get(at.topic);
          if (!topic) return;
          const place = `${at.topic}/${at.partition}/${at.offset}`;
          const letter = makeDeadLetter(record, place, options.groupId, error);
          await batching.send(deadLetterSpecOf(topic).name, letter, PUBLISH_TIMEOUT_MS);
        },
        observe: group.observe,
        log,
        signal: stop.signal,
      }),
    });
    group.watch(consumer);
    const endSettling = settleBeforeJoin(options.groupId, () => consumer.settle());
    context.readiness.add(options.groupId, () => consumer.isJoined || 'not a member of its consumer group');
    await unlessAborted(consumer.start(), context.stopping);
    const watch = startProgressWatch({
      groupId: options.groupId,
      topics: [...topics.keys()],
      progress: () => consumer.progress,
      admin,
      stallMsMax: config.livenessStallMs,
      log,
    });
    context.liveness?.add(options.groupId, watch.check);
    return {
      async [Symbol.asyncDispose]() {
        await watch[Symbol.asyncDispose]();
        stop.abort();
        await consumer.stop(drainMsOf(config.shutdownTimeoutMs));
        // Until then members may come and go, and what ends meanwhile is still this one's to commit.
        endSettling();
      },
    };
  };

  return {
    publish,
    publishRecord: (topic, record) => batching.send(topic, record, PUBLISH_TIMEOUT_MS),
    consume,
    readTopic: (options) => readTopic({ ...options, kafka }),
    admin,
    observeLag: (topic, lag) => fair.observeLag(topic, lag),
    pendingCount: () => batching.pendingCount,
    async [Symbol.asyncDispose]() {
      await brokerWatch[Symbol.asyncDispose]();
      await within(drainMsOf(config.shutdownTimeoutMs) / 2, batching.drain());
      await within(DISCONNECT_MS_MAX, Promise.all([producer.disconnect(), admin.disconnect()]));
    },
  };
}

function makePublish(batching: BatchingProducer): KafkaConnection['publish'] {
  return async (topic, message, { traceparent: parent, fairness, isValidated, timeoutMs } = {}) => {
    // Checked before writing as well as when reading: a message that its consumers would refuse never leaves.
    const parsed = isValidated
      ? ({ success: true, data: message } as const)
      : topic.schema.safeParse(message);
    if (!parsed.success)
      throw new ServiceError('message-unreadable', `a message does not match ${topic.name}`);
    const value = JSON.stringify(parsed.data);
    if (Buffer.byteLength(value) > topic.messageBytesMax)
      throw new ServiceError('message-too-large', `a message is larger than ${topic.name} allows`);
    const key = topic.keyOf(message);
    const isUrgent = topic.urgent?.is(parsed.data) ?? false;
    const range = rangeOf(topic, isUrgent);
    const version = { [SCHEMA_HEADER]: String(topic.schemaVersion) };
    const record = (traceparent?: string): FairMessage => ({
      key,
      value,
      headers: traceparent === undefined ? version : { traceparent, ...version },
      ...(fairness ? { fairness } : {}),
      ...(range ? { range } : {}),
    });
    const send = (traceparent?: string) =>
      batching.send(topic.name, record(traceparent), timeoutMs ?? PUBLISH_TIMEOUT_MS, isUrgent);
    // What belongs to no trace, such as an hourly total, begins none.
    await (parent === undefined ? send() : inProducerSpan(topic.name, key, parent, send));
  };
}

/** The last partitions of some topics are for urgent messages alone. */
function rangeOf<M>({ partitionCount, urgent }: Topic<M>, isUrgent: boolean): PartitionRange | undefined {
  const urgentCount = urgent?.partitionCount;
  if (urgentCount === undefined) return undefined;
  const othersCount = partitionCount - urgentCount;
  return isUrgent ? { first: othersCount, count: urgentCount } : { first: 0, count: othersCount };
}

/** The part of the stop that work in hand may take: what is not done by then is left to the next owner. */
const drainMsOf = (shutdownTimeoutMs: number): number => Math.max(500, Math.round(shutdownTimeoutMs * 0.7));
