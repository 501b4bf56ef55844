import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, ConfigEntries, ITopicConfig } from 'kafkajs';
import type { TopicSpec } from '#shared/contracts/topic.ts';

const APPLY_TIMEOUT_MS = 60_000;
/** Room for the framing of a record batch that holds one message of the largest size. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;
const CREATE_BATCH_MAX = 100;
const SERVED_RETRY_MS = 100;
const SERVED_TRIES_MAX = APPLY_TIMEOUT_MS / SERVED_RETRY_MS;

type TopicsApplied = {
  readonly created: string[];
  readonly changed: string[];
  readonly unchanged: number;
};

const settingsOf = (topic: TopicSpec): Record<string, string> => ({
  'cleanup.policy': topic.cleanup,
  'retention.ms': String(topic.retentionMs ?? -1),
  'max.message.bytes': String(topic.messageBytesMax + BATCH_OVERHEAD_BYTES),
});

/**
 * Creates missing topics and sets the declared settings of existing ones. Other settings of a topic stay as they are.
 *
 * Adds partitions if more are declared, except to a compacted topic: there a key must keep its partition.
 */
export async function applyTopics(admin: Admin, topics: readonly TopicSpec[]): Promise<TopicsApplied> {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter(({ name }) => !existing.has(name));
  for (let i = 0; i < missing.length; i += CREATE_BATCH_MAX) {
    const batch = missing.slice(i, i + CREATE_BATCH_MAX);
    await admin.createTopics({
      topics: batch.map(creationOf),
      timeout: APPLY_TIMEOUT_MS,
      waitForLeaders: false,
    });
    await waitUntilServed(
      admin,
      batch.map(({ name }) => name),
    );
  }
  const present = topics.filter(({ name }) => existing.has(name));
  const grown = await addPartitions(admin, present);
  const settings = await readTopicSettings(admin, present);
  const drifted = present.filter((topic) => hasDrifted(topic, settings.get(topic.name)));
  if (drifted.length > 0) {
    // The request replaces all settings of a topic: what the operator has set is sent again. Kafka's request for single
    // settings is not in kafkajs.
    await admin.alterConfigs({
      validateOnly: false,
      resources: drifted.map((topic) => ({
        type: TOPIC_RESOURCE,
        name: topic.name,
        configEntries: entriesOf({ ...settings.get(topic.name)?.own, ...settingsOf(topic) }),
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

/**
 * Returns when a broker knows the leader of every partition of new topics. kafkajs's own wait fails at once where the
 * broker that it asks does not know a topic yet, which happens as soon as there are several brokers.
 *
 * @throws the broker's error if it lasts for 60 s, or is not about the topics' age
 */
async function waitUntilServed(admin: Pick<Admin, 'fetchTopicMetadata'>, topics: string[]): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await admin.fetchTopicMetadata({ topics });
      return;
    } catch (error) {
      const isRetriable = (error as { readonly retriable?: boolean }).retriable === true;
      if (!isRetriable || tries >= SERVED_TRIES_MAX) throw error;
      await delay(SERVED_RETRY_MS);
    }
  }
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

/** Keeps the brokers' default, which may be a compression that cannot be read, from a new topic. An operator may change it. */
const AS_SENT = { 'compression.type': 'producer' } as const;

const creationOf = (topic: TopicSpec): ITopicConfig => ({
  topic: topic.name,
  numPartitions: topic.partitionCount,
  replicationFactor: BROKER_DEFAULT,
  configEntries: entriesOf({ ...settingsOf(topic), ...AS_SENT }),
});

const entriesOf = (settings: Readonly<Record<string, string>>) =>
  Object.entries(settings).map(([name, value]) => ({ name, value }));

/** The settings of a topic by name: those in effect, and those of them that were set on the topic itself. */
export type TopicSettings = {
  readonly inEffect: Readonly<Record<string, string>>;
  readonly own: Readonly<Record<string, string>>;
};

/** @throws the broker's error, among others if the user has no right to describe the settings of a topic */
export async function readTopicSettings(
  admin: Pick<Admin, 'describeConfigs'>,
  topics: readonly TopicSpec[],
): Promise<ReadonlyMap<string, TopicSettings>> {
  if (topics.length === 0) return new Map();
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map(({ name }) => ({ type: TOPIC_RESOURCE, name })),
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
export const hasDrifted = (topic: TopicSpec, settings: TopicSettings | undefined): boolean =>
  Object.entries(settingsOf(topic)).some(([name, value]) => settings?.inEffect[name] !== value);
