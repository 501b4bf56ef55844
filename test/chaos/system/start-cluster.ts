import { join } from 'node:path';
import {
  type KafkaOptions,
  type RunningKafka,
  startKafka,
} from '../../../deploy/local/infrastructure/kafka.ts';
import { newClusterId } from '../../../deploy/local/infrastructure/kafka-storage.ts';
import type { Member } from '../../../deploy/local/system/make-fleet.ts';

const NODE_IDS = [1, 2, 3] as const;
const HEAP_MIB = 256;
/** Every topic has three replicas, and two of them are enough to write. */
const REPLICATION: Readonly<Record<string, string>> = {
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'offsets.topic.replication.factor': '3',
  'transaction.state.log.replication.factor': '3',
  'transaction.state.log.min.isr': '2',
  'share.coordinator.state.topic.replication.factor': '3',
  'share.coordinator.state.topic.min.isr': '2',
  'broker.session.timeout.ms': '3000',
};

export type Cluster = {
  /** `host:port` of all brokers, comma-separated. */
  readonly brokers: string;
  /** Starts the broker that replaces a system's only one, together with the other two. */
  readonly part: (kafka: Member) => Member;
  /** The other two brokers. */
  readonly others: readonly RunningKafka[];
};

/**
 * Three brokers on this machine, each a controller too; the first one replaces the system's own.
 *
 * @param ports broker and controller of each
 */
export function makeCluster(
  scope: AsyncDisposableStack,
  dir: string,
  ports: readonly { readonly port: number; readonly controllerPort: number }[],
): Cluster {
  const clusterId = newClusterId();
  const voters = ports.map(({ controllerPort }, i) => `${NODE_IDS[i]}@127.0.0.1:${controllerPort}`);
  const others: RunningKafka[] = [];
  const optionsOf = (index: number): KafkaOptions => ({
    dir: join(dir, `kafka-${index + 1}`),
    port: 0,
    controllerPort: 0,
    ...ports[index],
    clusterId,
    heapMiB: HEAP_MIB,
    properties: {
      ...REPLICATION,
      'node.id': String(NODE_IDS[index]),
      'controller.quorum.voters': voters.join(','),
    },
  });
  return {
    brokers: ports.map(({ port }) => `127.0.0.1:${port}`).join(','),
    others,
    part: (kafka) => ({
      ...kafka,
      async start(hooks) {
        const first = startKafka({ ...optionsOf(0), ...hooks });
        if (others.length > 0) return first;
        const rest = await Promise.all([startKafka(optionsOf(1)), startKafka(optionsOf(2))]);
        for (const broker of rest) others.push(scope.use(broker));
        return first;
      },
    }),
  };
}
