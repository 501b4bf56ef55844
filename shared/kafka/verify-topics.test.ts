import type { Admin } from 'kafkajs';
import { makeLogger } from '#shared/telemetry/log.ts';
import { verifyTopics } from './topics-admin.ts';

// Scenario: a cluster of several brokers, as its operator has set it up. (The integration test has
// one broker.)

const TOPIC = { name: 'a.v1', partitionCount: 2, cleanup: 'delete', messageBytesMax: 1_000 } as const;
const SAFE = {
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'max.message.bytes': String(1_000 + 64 * 1024),
  'min.insync.replicas': '2',
  'unclean.leader.election.enable': 'false',
  'compression.type': 'producer',
};

function clusterOf({
  brokers = 3,
  replicas = [3, 3],
  settings = SAFE,
}: {
  readonly brokers?: number;
  readonly replicas?: readonly number[];
  readonly settings?: Record<string, string> | Error;
}): Admin {
  const idsUpTo = (count: number) => Array.from({ length: count }, (_, id) => id);
  const admin = {
    listTopics: async () => [TOPIC.name],
    describeCluster: async () => ({ brokers: idsUpTo(brokers) }),
    fetchTopicMetadata: async () => ({
      topics: [{ name: TOPIC.name, partitions: replicas.map((count) => ({ replicas: idsUpTo(count) })) }],
    }),
    async describeConfigs({ resources }: Parameters<Admin['describeConfigs']>[0]) {
      if (settings instanceof Error) throw settings;
      // As a broker does: the settings that are named.
      const configEntries = Object.entries(settings)
        .filter(([configName]) => resources[0]?.configNames?.includes(configName))
        .map(([configName, configValue]) => ({ configName, configValue }));
      return { resources: [{ resourceName: TOPIC.name, configEntries }] };
    },
  };
  return admin as unknown as Admin;
}

async function warningsOf(cluster: Parameters<typeof clusterOf>[0]): Promise<string[]> {
  const lines: string[] = [];
  const log = makeLogger('test', 'warn', { write: (line) => void lines.push(line) });
  await verifyTopics(clusterOf(cluster), [TOPIC], log);
  return lines.map((line) => JSON.parse(line).msg);
}

test('three replicas of which two must be in sync are safe', async () => {
  expect(await warningsOf({})).toEqual([]);
});

test('one broker with one replica is not warned of', async () => {
  const settings = { ...SAFE, 'min.insync.replicas': '1' };
  expect(await warningsOf({ brokers: 1, replicas: [1, 1], settings })).toEqual([]);
});

test.each([
  ['min.insync.replicas is 1 on topics with several', { settings: { ...SAFE, 'min.insync.replicas': '1' } }],
  [
    'unclean.leader.election.enable is true',
    { settings: { ...SAFE, 'unclean.leader.election.enable': 'true' } },
  ],
  ['topics have one replica although there are several brokers', { replicas: [3, 1] }],
  ['topics have other settings than declared', { settings: { ...SAFE, 'cleanup.policy': 'compact' } }],
  ['allow DescribeConfigs', { settings: new Error('TOPIC_AUTHORIZATION_FAILED') }],
])('warns that %s', async (advice, cluster) => {
  expect(await warningsOf(cluster)).toEqual([expect.stringContaining(advice)]);
});

test('partitions are verified also if the settings cannot be read', async () => {
  const cluster = { replicas: [3], settings: new Error('TOPIC_AUTHORIZATION_FAILED') };
  await expect(warningsOf(cluster)).rejects.toThrow('a.v1 has 1 partitions instead of 2, run: npm run admin');
});
