import type { StartedTestContainer } from 'testcontainers';
import { kafkaProperties } from '../../../deploy/local/infrastructure/kafka-properties.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';

const KAFKA_IMAGE = 'apache/kafka:4.3.1';
const REDIS_IMAGE = 'redis:7-bookworm';
const UP_TIMEOUT_MS = 120_000;
const INSIDE_PORT = 9092;
const CONTROLLER_PORT = 9093;
const REDIS_PORT = 6379;

type KafkaContainer = AsyncDisposable & { readonly brokers: string };
type RedisContainer = AsyncDisposable & {
  readonly url: string;
  readonly container: StartedTestContainer;
};

/** Loaded only on demand: it is large, and most runs need no container engine. */
const load = () => import('testcontainers');

/** Whether tests use containers: `TEST_CONTAINERS=1` is set and an engine answers. */
export async function usesContainers(): Promise<boolean> {
  if (process.env['TEST_CONTAINERS'] !== '1') return false;
  const { getContainerRuntimeClient } = await load();
  try {
    await getContainerRuntimeClient();
    return true;
  } catch {
    process.stderr.write('TEST_CONTAINERS is set, but no container engine answers: using this machine\n');
    return false;
  }
}

/** One broker with the settings of the local one, on a free port of this machine. */
export async function startKafkaContainer(): Promise<KafkaContainer> {
  const { GenericContainer, Wait } = await load();
  const [port = 0] = await findFreePorts(1);
  const { 'log.dirs': _dir, ...properties } = kafkaProperties({
    dir: '',
    port,
    controllerPort: CONTROLLER_PORT,
  });
  const settings = {
    ...properties,
    listeners: `PLAINTEXT://:${INSIDE_PORT},CONTROLLER://:${CONTROLLER_PORT}`,
    // The advertised listener: the port on this machine, not the one in the container.
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'controller.quorum.voters': `1@localhost:${CONTROLLER_PORT}`,
  };
  const container = await new GenericContainer(KAFKA_IMAGE)
    .withEnvironment(
      Object.fromEntries(Object.entries(settings).map(([name, value]) => [variableOf(name), value])),
    )
    .withExposedPorts({ container: INSIDE_PORT, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(UP_TIMEOUT_MS)
    .start();
  return { brokers: `127.0.0.1:${port}`, [Symbol.asyncDispose]: () => remove(container) };
}

/** A setting as the image expects it: `log.dirs` is `KAFKA_LOG_DIRS`. */
const variableOf = (property: string): string => `KAFKA_${property.toUpperCase().replaceAll('.', '_')}`;

/** A Redis on a free port of this machine; it can be stopped and restarted there. */
export async function startRedisContainer(): Promise<RedisContainer> {
  const { GenericContainer, Wait } = await load();
  const host = (await findFreePorts(1))[0] ?? 0;
  const container = await new GenericContainer(REDIS_IMAGE)
    .withCommand(['redis-server', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'])
    .withExposedPorts({ container: REDIS_PORT, host })
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .withStartupTimeout(UP_TIMEOUT_MS)
    .start();
  return {
    url: `redis://127.0.0.1:${host}`,
    container,
    [Symbol.asyncDispose]: () => remove(container),
  };
}

const remove = async (container: StartedTestContainer): Promise<void> => void (await container.stop());
