import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { connectAsking } from './connect.ts';

const load = createRequire(__filename);
type Cluster = { brokerPool: object; connect: () => Promise<void> };
const KafkaCluster = load('kafkajs/src/cluster') as new (options: object) => Cluster;
const createAdmin = load('kafkajs/src/admin') as (options: object) => Admin;

type Topics = readonly { readonly topic: string; readonly partitions: readonly object[] }[];

/** Clients of kafkajs over a broker of which all answers come at once. */
function aBroker() {
  let held: (() => void)[] = [];
  const metadataOf = (topic: string) => ({
    topic,
    partitionMetadata: [0, 1].map((partitionId) => ({ partitionId, leader: 1 })),
  });
  const broker = {
    metadata: (topics: readonly string[]) => {
      const answer = { brokers: [], controllerId: 1, topicMetadata: topics.map(metadataOf) };
      return new Promise((resolve) => held.push(() => resolve(answer)));
    },
    findGroupCoordinator: async () => ({ coordinator: { nodeId: 1 } }),
    offsetFetch: async ({ topics }: { readonly topics: Topics }) => ({
      responses: topics.map(({ topic, partitions }) => ({
        topic,
        partitions: partitions.map((partition) => ({ ...partition, offset: '7' })),
      })),
    }),
  };
  const log = { namespace: () => log, debug: () => undefined, error: () => undefined };
  return {
    kafka: {
      admin: () => {
        const cluster = new KafkaCluster({ logger: log, brokers: [], retry: { retries: 0 } });
        Object.assign(cluster.brokerPool, {
          seedBroker: { connectionPool: {} },
          connect: async () => undefined,
          findBroker: async () => broker,
          findConnectedBroker: async () => broker,
          withBroker: (work: (found: object) => unknown) => work({ broker }),
        });
        return createAdmin({ logger: log, cluster, retry: { retries: 0 } });
      },
    },
    answerAll(): void {
      const answers = held;
      held = [];
      for (const answer of answers) answer();
    },
  };
}

test('the commits of a group are read while the process asks whether the broker answers', async () => {
  const { kafka, answerAll } = aBroker();
  const { ask } = await connectAsking(kafka);
  let isRead = false;
  const reading = kafka.admin().fetchOffsets({ groupId: 'g', topics: ['t'] });
  void reading.finally(() => {
    isRead = true;
  });
  while (!isRead) {
    await delay(2);
    void ask();
    await delay(2);
    answerAll();
  }
  expect(await reading).toEqual([
    { topic: 't', partitions: [0, 1].map((partition) => ({ partition, offset: '7', metadata: null })) },
  ]);
});
