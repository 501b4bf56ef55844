import type { Admin, PartitionMetadata } from 'kafkajs';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { describeError, ServiceError } from '#shared/errors.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { hasDrifted, readTopicSettings, type TopicSettings } from './topics-admin.ts';
import { READABLE_COMPRESSIONS } from './wire/codecs.ts';

type Inspected = {
  readonly topic: TopicSpec;
  /** Absent: the topic is missing. */
  readonly partitions: readonly PartitionMetadata[] | undefined;
  /** Absent: they could not be read. */
  readonly settings: TopicSettings | undefined;
};

/**
 * Checks the topics as they are: every one exists, has enough partitions, and its records can be read. Logs a warning about settings
 * by which the cluster may lose what it has acknowledged.
 *
 * More partitions than declared are accepted: of a topic whose old records expire, no consumer needs the records of a key to have
 * been in one partition for ever. In a compacted topic a key's older record would stay in its former partition.
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
  const settings = await readTopicSettings(admin, present).catch((error: unknown) => {
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

/** The fewest replicas of any partition. */
const replicasOf = ({ partitions = [] }: Inspected): number =>
  Math.min(...partitions.map(({ replicas }) => replicas.length));
