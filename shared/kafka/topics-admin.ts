import { setTimeout as delay } from 'node:timers/promises';
import type { Admin, ITopicConfig } from 'kafkajs';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { ServiceError } from '#shared/errors.ts';

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
 * Creates missing topics and sets the declared settings of existing ones.
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
  const drifted = await findDrift(admin, present);
  if (drifted.length > 0) {
    await admin.alterConfigs({
      validateOnly: false,
      resources: drifted.map((topic) => ({
        type: TOPIC_RESOURCE,
        name: topic.name,
        configEntries: Object.entries(settingsOf(topic)).map(([name, value]) => ({ name, value })),
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

/**
 * Checks that every topic exists with the declared number of partitions.
 *
 * @throws ServiceError `config-invalid`, naming every faulty topic and the command that fixes it
 */
export async function verifyTopics(admin: Admin, topics: readonly TopicSpec[]): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const counts = await countPartitions(
    admin,
    topics.filter(({ name }) => existing.has(name)),
  );
  const faults = topics.flatMap(({ name, partitionCount }) => {
    const count = counts.get(name);
    if (count === undefined) return [`${name} is missing`];
    return count === partitionCount ? [] : [`${name} has ${count} partitions instead of ${partitionCount}`];
  });
  if (faults.length > 0)
    throw new ServiceError(
      'config-invalid',
      `topics: ${faults.join('; ')}; run: npm run admin -- topics apply`,
    );
}

const TOPIC_RESOURCE = 2;

async function countPartitions(admin: Admin, topics: readonly TopicSpec[]): Promise<Map<string, number>> {
  const { topics: found } = await admin.fetchTopicMetadata({ topics: topics.map(({ name }) => name) });
  return new Map(found.map(({ name, partitions }) => [name, partitions.length]));
}

async function addPartitions(admin: Admin, topics: readonly TopicSpec[]): Promise<TopicSpec[]> {
  if (topics.length === 0) return [];
  const counts = await countPartitions(admin, topics);
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

const creationOf = (topic: TopicSpec): ITopicConfig => ({
  topic: topic.name,
  numPartitions: topic.partitionCount,
  replicationFactor: BROKER_DEFAULT,
  configEntries: Object.entries(settingsOf(topic)).map(([name, value]) => ({ name, value })),
});

async function findDrift(admin: Admin, topics: readonly TopicSpec[]): Promise<TopicSpec[]> {
  if (topics.length === 0) return [];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map(({ name }) => ({ type: TOPIC_RESOURCE, name })),
  });
  const actual = new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
  return topics.filter((topic) =>
    Object.entries(settingsOf(topic)).some(([name, value]) => actual.get(topic.name)?.get(name) !== value),
  );
}
