import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { patchKafkajs } from '#shared/kafka/consumer/patch-kafkajs.ts';
import { type Child, spawnChild } from '../processes/child.ts';
import { logTail } from '../processes/log-tail.ts';
import { waitUntilUp } from '../processes/wait-until-up.ts';
import { requireFreePorts } from '../settings/ports.ts';
import { javaFlags } from './java-flags.ts';
import { formatLogging, formatProperties, kafkaProperties } from './kafka-properties.ts';
import { prepareKafkaStorage } from './kafka-storage.ts';
import { loadToolchain, type Toolchain } from './toolchain.ts';

const STOP_TIMEOUT_MS = 15_000;
const HEAP_MIB = 512;

export type KafkaOptions = {
  readonly dir: string;
  readonly port: number;
  readonly controllerPort: number;
  readonly heapMiB?: number;
  /** Settings beyond or instead of the usual ones. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Id of the cluster that a new directory belongs to; by default a new one. */
  readonly clusterId?: string;
  readonly toolchain?: Toolchain;
  readonly javaOptions?: readonly string[];
  readonly stopTimeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
  readonly onSpawn?: ((pid: number) => void) | undefined;
};

export type RunningKafka = Child & {
  /** `host:port`. */
  readonly brokers: string;
};

/**
 * Starts one real broker on this machine and waits until it answers. A new directory is formatted
 * first; an existing one continues with its data, also after kill -9 and on other ports.
 *
 * @throws Error if the directory is not Kafka's, the broker ends (a port in use, for example) or is
 *   not up in 180 s; nothing is left running then.
 *
 * @example
 * await using kafka = await startKafka({ dir: '/tmp/k', port: 21_002, controllerPort: 21_003 });
 * kafka.brokers; // '127.0.0.1:21002'
 */
export async function startKafka(options: KafkaOptions): Promise<RunningKafka> {
  const { dir, port, controllerPort, signal, toolchain = loadToolchain() } = options;
  await requireFreePorts([
    { port, program: 'Kafka' },
    { port: controllerPort, program: "Kafka's controller" },
  ]);
  const clusterId = await prepareKafkaStorage(options, toolchain, signal);
  signal?.throwIfAborted();
  const child = await spawnBroker(options, toolchain);
  const brokers = `127.0.0.1:${port}`;
  await waitUntilUp(child, () => answers(brokers, clusterId), {
    what: 'Kafka',
    signal,
    logTail: () => logTail(join(dir, 'broker.log')) + logTail(join(dir, 'stdout.log')),
  });
  return { ...child, brokers };
}

function spawnBroker(options: KafkaOptions, { java, kafka }: Toolchain): Promise<Child> {
  const {
    dir,
    properties,
    heapMiB = HEAP_MIB,
    javaOptions = [],
    stopTimeoutMs = STOP_TIMEOUT_MS,
    onSpawn,
  } = options;
  const config = join(dir, 'server.properties');
  const logging = join(dir, 'log4j2.properties');
  writeFileSync(config, formatProperties({ ...kafkaProperties(options), ...properties }));
  writeFileSync(logging, formatLogging(join(dir, 'broker.log')));
  const output = openSync(join(dir, 'stdout.log'), 'w');
  const args = [
    `-Xmx${heapMiB}m`,
    ...javaFlags(kafka),
    ...javaOptions,
    `-Dlog4j2.configurationFile=${logging}`,
    'kafka.Kafka',
    config,
  ];
  return spawnChild(java, args, {
    stdio: ['ignore', output, output],
    stopTimeoutMs,
    onSpawn,
  }).finally(() => closeSync(output));
}

/** The broker is ours, registered and not fenced, so it accepts requests from now on. */
async function answers(brokers: string, clusterId: string): Promise<boolean> {
  patchKafkajs();
  const kafka = new Kafka({
    brokers: [brokers],
    clientId: 'rolecall-starter',
    logLevel: logLevel.NOTHING,
    connectionTimeout: 500,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const cluster = await admin.describeCluster();
    return cluster.clusterId === clusterId && cluster.brokers.length > 0 && cluster.controller !== null;
  } finally {
    await admin.disconnect();
  }
}
