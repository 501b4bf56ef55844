import type { Admin, Message } from 'kafkajs';
import type { CommonConfig } from '#shared/config.ts';
import { deadLetterSpecOf, type Topic } from '#shared/contracts/topic.ts';
import type { Owner } from '#shared/fairness/fair-shares.ts';
import type { ServiceContext } from '#shared/service-context.ts';
import { unlessAborted } from '#shared/wait-for.ts';
import { restartUnless, waitForCoordinator } from '../client.ts';
import { makeDeadLetter } from '../dead-letters.ts';
import type { KafkaInstruments } from '../instruments.ts';
import type { SystemKafka } from '../of-system.ts';
import { startProgressCheck } from './check-progress.ts';
import type { BeforeCommit } from './commit-offsets.ts';
import { settleBeforeJoin } from './patch-kafkajs.ts';
import { makeParseRecord, makeProcessRecord } from './process-record.ts';
import type { GiveUp, HandleErasure, Handler } from './record.ts';
import { WindowConsumer } from './window-consumer.ts';

/** How long the broker waits for data. It answers as soon as there is a record: only an idle
 * consumer waits so long. */
const FETCH_WAIT_MS_MAX = 1_000;
const FETCH_BYTES_PER_PARTITION_MAX = 256 * 1024;
const METADATA_AGE_MS_MAX = 60_000;

export type ConsumeOptions<M> = {
  readonly groupId: string;
  readonly topics: readonly Topic<M>[];
  /** Records processed at once, 1 to 10 000. */
  readonly window: number;
  readonly handle: Handler<M>;
  readonly giveUp?: GiveUp<M>;
  /** For compacted topics. Default: nothing is done. */
  readonly handleErasure?: HandleErasure;
  /**
   * Whose share of the slots a record takes: for a topic whose partitioner keeps an account to some
   * of the partitions, because a record without a slot holds up those behind it. Default: its
   * partition's.
   */
  readonly ownerOf?: (message: M) => Owner;
  /** For a topic of delayed messages: when a message is due, epoch ms by `now`. */
  readonly due?: { readonly dueAtOf: (message: M) => number; readonly now: () => number };
  /** Called after every assignment of partitions; `partitions` are those of the first topic. */
  readonly onAssignment?: (partitions: readonly number[]) => void;
  readonly beforeCommit?: BeforeCommit;
};

type Connection = {
  readonly kafka: SystemKafka;
  readonly admin: Admin;
  readonly instruments: KafkaInstruments;
  readonly config: CommonConfig;
  readonly context: Pick<ServiceContext, 'log' | 'fail' | 'readiness' | 'stopping'> &
    Partial<Pick<ServiceContext, 'liveness'>>;
  readonly publishRecord: (topic: string, record: Message) => Promise<void>;
  /** How long a stop waits for running records. */
  readonly drainMs: number;
};

/**
 * Joins a consumer group and processes its records until disposal.
 *
 * @throws the signal's reason if the process is asked to stop before the first assignment
 */
export async function startConsumer<M>(
  { kafka, admin, instruments, config, context, publishRecord, drainMs }: Connection,
  options: ConsumeOptions<M>,
): Promise<AsyncDisposable> {
  const { groupId } = options;
  const topics = new Map(options.topics.map((topic) => [topic.name, topic]));
  const topicNames = [...topics.keys()];
  const log = context.log.child({ group: groupId });
  const metrics = instruments.ofGroup(groupId, topicNames);
  const source = kafka.consumer({
    groupId,
    retry: restartUnless(() => consumer.state === 'stopping'),
    sessionTimeout: config.kafka.sessionTimeoutMs,
    heartbeatInterval: config.kafka.heartbeatIntervalMs,
    // Heartbeats are sent between fetches only.
    maxWaitTimeInMs: Math.min(FETCH_WAIT_MS_MAX, config.kafka.heartbeatIntervalMs),
    maxBytesPerPartition: FETCH_BYTES_PER_PARTITION_MAX,
    metadataMaxAge: METADATA_AGE_MS_MAX,
  });
  const consumer = new WindowConsumer<M>(source, {
    topics: topicNames,
    window: options.window,
    log,
    fail: context.fail,
    onAssignment: () => {
      metrics.onAssignment();
      if (consumer.partitionCount === 0)
        log.warn(
          { topics: topicNames },
          'no partition assigned: the group has more consumers than partitions',
        );
      options.onAssignment?.(consumer.partitionsOf(topicNames[0]));
    },
    onCrash: metrics.onCrash,
    beforeCommit: options.beforeCommit,
    readCommitted: () => readCommitted(admin, groupId, topicNames),
    ownerOf: options.ownerOf,
    now: options.due?.now ?? Date.now,
    parse: makeParseRecord(topics, options.due?.dueAtOf),
    process: makeProcessRecord<M>({
      groupId,
      topics,
      handle: options.handle,
      handleErasure: options.handleErasure,
      giveUp: options.giveUp,
      deadLetter: async (record, at, error) => {
        const topic = topics.get(at.topic);
        if (!topic) return;
        const origin = `${at.topic}/${at.partition}/${at.offset}`;
        await publishRecord(deadLetterSpecOf(topic).name, makeDeadLetter(record, origin, groupId, error));
      },
      countOutcome: metrics.countOutcome,
      log,
    }),
  });
  metrics.watch(consumer);
  const ownGroup = config.kafka.prefix + groupId;
  const endSettling = settleBeforeJoin(ownGroup, () => consumer.settle());
  context.readiness.add(groupId, () => consumer.isJoined || 'not a member of its consumer group');
  await waitForCoordinator(config.kafka, groupId, context.stopping);
  await unlessAborted(consumer.start(), context.stopping);
  const progressCheck = startProgressCheck({
    groupId,
    topics: topicNames,
    progress: () => consumer.progress,
    admin,
    stallMsMax: config.livenessStallMs,
    log,
  });
  context.liveness?.add(groupId, progressCheck.isWell);
  return {
    async [Symbol.asyncDispose]() {
      await progressCheck[Symbol.asyncDispose]();
      await consumer.stop(drainMs);
      // Until here members may come and go: a record that ends meanwhile is still committed by this
      // member.
      endSettling();
    },
  };
}

async function readCommitted(
  admin: Admin,
  groupId: string,
  topics: string[],
): Promise<ReadonlyMap<string, number>> {
  const found = await admin.fetchOffsets({ groupId, topics });
  return new Map(
    found.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset }) => [`${topic}/${partition}`, Number(offset)] as const),
    ),
  );
}
