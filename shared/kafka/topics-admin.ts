import type { Admin, ConfigEntries, ITopicConfig, PartitionMetadata } from 'kafkajs';
import { DAY_MS } from '../contracts/durations.ts';
import type { TopicSpec } from '../contracts/topic.ts';
import { describeError, ServiceError } from '../errors.ts';
import type { Logger } from '../telemetry/log.ts';
import { retry } from '../wait-for.ts';
import { isRetriableByBroker } from './topic-offsets.ts';
import { READABLE_COMPRESSIONS } from './wire/codecs.ts';

const APPLY_TIMEOUT_MS = 60_000;
/** Room for the framing of a record batch that holds one message of the largest size. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;
const COMPACTED_SEGMENT_BYTES = 64 * 1024 * 1024;
const CREATE_BATCH_MAX = 100;
/** How new topics are waited for: 60 s. */
const SERVED = { delayMs: 100, triesMax: 600, mayRetry: isRetriableByBroker } as const;

const settingsOf = (topic: TopicSpec): Record<string, string> => ({
  'cleanup.policy': topic.cleanup,
  'retention.ms': String(topic.retentionMs ?? -1),
  'max.message.bytes': String(topic.messageBytesMax + BATCH_OVERHEAD_BYTES),
  ...(topic.supersededMs === undefined ? {} : compactionOf(topic.supersededMs)),
});

/** Of what is superseded a broker keeps what is in the segment that it writes to, so that must end
 * too. What was erased stays erased for a reader that is a day behind. */
const compactionOf = (supersededMs: number) => ({
  'max.compaction.lag.ms': String(supersededMs),
  'segment.ms': String(supersededMs),
  'segment.bytes': String(COMPACTED_SEGMENT_BYTES),
  'delete.retention.ms': String(DAY_MS),
});

/** Every start reads the settings of all topics, so no more of them than are compared. */
const declaredNamesOf = (topic: TopicSpec): string[] => Object.keys(settingsOf(topic));

/**
 * Creates missing topics and sets the declared settings of existing ones. Other settings of a topic
 * stay as they are.
 *
 * Adds partitions if more are declared, except to a compacted topic: there a key must keep its
 * partition.
 */
export async function applyTopics(admin: Admin, topics: readonly TopicSpec[]) {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter(({ name }) => !existing.has(name));
  for (let i = 0; i < missing.length; i += CREATE_BATCH_MAX) {
    const batch = missing.slice(i, i + CREATE_BATCH_MAX);
    await admin.createTopics({
      topics: batch.map(creationOf),
      timeout: APPLY_TIMEOUT_MS,
      waitForLeaders: false,
    });
    // kafkajs's own wait for the leaders fails at once where the broker that it asks does not know a
    // topic yet, which happens as soon as there are several brokers.
    const names = batch.map(({ name }) => name);
    await retry(() => admin.fetchTopicMetadata({ topics: names }), SERVED);
  }
  const present = topics.filter(({ name }) => existing.has(name));
  const grown = await addPartitions(admin, present);
  const settings = await readTopicSettings(admin, present, declaredNamesOf);
  const drifted = present.filter((topic) => hasDrifted(topic, settings.get(topic.name)));
  if (drifted.length > 0) {
    // The request replaces all settings of a topic: what the operator has set is sent again.
    // Kafka's request for single settings is not in kafkajs.
    const whole = await readTopicSettings(admin, drifted);
    await admin.alterConfigs({
      validateOnly: false,
      resources: drifted.map((topic) => ({
        type: TOPIC_RESOURCE,
        name: topic.name,
        configEntries: entriesOf({ ...whole.get(topic.name)?.own, ...settingsOf(topic) }),
      })),
    });
  }
  const changed = new Set([...grown, ...drifted].map(({ name }) => name));
  return {
    created: missing.map(({ name }) => name),
    changed: [...changed],
    unchanged: present.length - changed.size,
  };
}

const TOPIC_RESOURCE = 2;
/** A setting's source in kafkajs's `ConfigSource`, whose values its module does not export. */
const SET_ON_TOPIC = 1;

async function addPartitions(admin: Admin, topics: readonly TopicSpec[]): Promise<TopicSpec[]> {
  if (topics.length === 0) return [];
  const { topics: found } = await admin.fetchTopicMetadata({ topics: topics.map(({ name }) => name) });
  const counts = new Map(found.map(({ name, partitions }) => [name, partitions.length]));
  const grown = topics.filter(
    ({ name, cleanup, partitionCount }) =>
      cleanup === 'delete' && (counts.get(name) ?? partitionCount) < partitionCount,
  );
  if (grown.length > 0)
    await admin.createPartitions({
      timeout: APPLY_TIMEOUT_MS,
      topicPartitions: grown.map(({ name, partitionCount }) => ({ topic: name, count: partitionCount })),
    });
  return grown;
}

/** The replication factor by which a broker chooses its own. */
const BROKER_DEFAULT = -1;

/** Keeps the brokers' default, which may be a compression that cannot be read, from a new topic. An
 * operator may change it. */
const AS_SENT = { 'compression.type': 'producer' } as const;

const creationOf = (topic: TopicSpec): ITopicConfig => ({
  topic: topic.name,
  numPartitions: topic.partitionCount,
  replicationFactor: BROKER_DEFAULT,
  configEntries: entriesOf({ ...settingsOf(topic), ...AS_SENT }),
});

const entriesOf = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => ({ name, value }));

/** The settings of a topic by name: those in effect, and those of them that were set on the topic
 * itself. */
type TopicSettings = {
  readonly inEffect: Readonly<Record<string, string>>;
  readonly own: Readonly<Record<string, string>>;
};

/** @throws the broker's error, among others if the user has no right to describe the settings of a
 * topic */
async function readTopicSettings(
  admin: Pick<Admin, 'describeConfigs'>,
  topics: readonly TopicSpec[],
  /** The names of the settings to read; none: all of them. */
  namesOf: (topic: TopicSpec) => string[] = () => [],
): Promise<ReadonlyMap<string, TopicSettings>> {
  if (topics.length === 0) return new Map();
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((topic) => ({
      type: TOPIC_RESOURCE,
      name: topic.name,
      configNames: namesOf(topic),
    })),
  });
  const asRecord = (entries: readonly ConfigEntries[]) =>
    Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      {
        inEffect: asRecord(configEntries),
        own: asRecord(configEntries.filter(({ configSource }) => configSource === SET_ON_TOPIC)),
      },
    ]),
  );
}

/** Whether a declared setting of a topic has another value. */
const hasDrifted = (topic: TopicSpec, settings: TopicSettings | undefined): boolean =>
  Object.entries(settingsOf(topic)).some(([name, value]) => settings?.inEffect[name] !== value);

/** The settings that are judged beside the declared ones. */
const JUDGED_SETTINGS = ['compression.type', 'min.insync.replicas', 'unclean.leader.election.enable'];

type Inspected = {
  readonly topic: TopicSpec;
  /** Absent: the topic is missing. */
  readonly partitions: readonly PartitionMetadata[] | undefined;
  /** Absent: they could not be read. */
  readonly settings: TopicSettings | undefined;
};

/**
 * Checks the topics as they are: every one exists, has enough partitions, and its records can be
 * read. Logs a warning about settings by which the cluster may lose what it has acknowledged.
 *
 * More partitions than declared are accepted: of a topic whose old records expire, no consumer
 * needs the records of a key to have been in one partition for ever. In a compacted topic a key's
 * older record would stay in its former partition.
 *
 * @throws ServiceError `config-invalid`, naming every faulty topic and the remedy
 */
export async function verifyTopics(
  admin: Admin,
  topics: readonly TopicSpec[],
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const present = topics.filter(({ name }) => existing.has(name));
  const { topics: found } = await admin.fetchTopicMetadata({ topics: present.map(({ name }) => name) });
  const partitions = new Map(found.map((each) => [each.name, each.partitions]));
  const namesOf = (topic: TopicSpec) => [...JUDGED_SETTINGS, ...declaredNamesOf(topic)];
  const settings = await readTopicSettings(admin, present, namesOf).catch((error: unknown) => {
    const advice = 'the settings of topics cannot be verified: allow DescribeConfigs on them';
    log.warn({ error: describeError(error) }, advice);
    return new Map<string, TopicSettings>();
  });
  const inspected = topics.map((topic): Inspected => {
    const { name } = topic;
    return {
      topic,
      partitions: existing.has(name) ? partitions.get(name) : undefined,
      settings: settings.get(name),
    };
  });
  const faults = inspected.flatMap((each) => faultOf(each) ?? []);
  if (faults.length > 0) throw new ServiceError('config-invalid', `topics: ${faults.join('; ')}`);
  const { brokers } = await admin.describeCluster();
  for (const [advice, applies] of Object.entries(adviceFor(brokers.length))) {
    const concerned = inspected.filter(applies).map(({ topic }) => topic.name);
    if (concerned.length > 0) log.warn({ topics: concerned }, advice);
  }
}

const APPLY = 'run: npm run admin -- topics apply';

function faultOf({ topic, partitions, settings }: Inspected): string | undefined {
  const { name, partitionCount, cleanup } = topic;
  if (partitions === undefined) return `${name} is missing, ${APPLY}`;
  const counts = `${name} has ${partitions.length} partitions instead of ${partitionCount}`;
  if (cleanup !== 'delete' && partitions.length !== partitionCount)
    return `${counts}, which never changes because it is compacted: make it again with ${partitionCount} and copy its records`;
  if (partitions.length < partitionCount) return `${counts}, ${APPLY}`;
  const compression = settings?.inEffect['compression.type'] ?? 'producer';
  if (!READABLE_COMPRESSIONS.has(compression))
    return `${name} has compression.type ${compression}, which cannot be read: set it to ${[...READABLE_COMPRESSIONS].join(', ')}`;
  return undefined;
}

/** Warnings, each with the topics that it is about. */
const adviceFor = (brokerCount: number): Readonly<Record<string, (inspected: Inspected) => boolean>> => ({
  'topics have one replica although there are several brokers: the loss of one disk loses accepted checks; use 3 replicas':
    (each) => brokerCount > 1 && replicasOf(each) === 1,
  'min.insync.replicas is 1 on topics with several replicas: a check may be accepted while one broker alone has it; set it to 2':
    (each) => replicasOf(each) > 1 && each.settings?.inEffect['min.insync.replicas'] === '1',
  'unclean.leader.election.enable is true: a broker that lacks accepted checks may become the leader; set it to false':
    ({ settings }) => settings?.inEffect['unclean.leader.election.enable'] === 'true',
  [`topics have other settings than declared, ${APPLY}`]: ({ topic, settings }) =>
    settings !== undefined && hasDrifted(topic, settings),
});

const replicasOf = ({ partitions = [] }: Inspected): number =>
  Math.min(...partitions.map(({ replicas }) => replicas.length));
