import { rmSync } from 'node:fs';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import { startRedis } from '../../../deploy/local/infrastructure/redis.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { startKafkaContainer, startRedisContainer, usesContainers } from './containers.ts';
import { makeDataDir } from './make-data-dir.ts';

/*
 * Infrastructure that a run or a test does not share: in containers if these are requested, else as
 * processes.
 */

type DedicatedKafka = AsyncDisposable & { readonly brokers: string };

type DedicatedRedis = AsyncDisposable & {
  readonly url: string;
  /** Freezes it: it keeps its connections and answers nothing until it is thawed. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
  /** Kills it at once, as in a crash. */
  readonly kill: () => Promise<void>;
  /** Starts it again on the same port with the same data. */
  readonly revive: () => Promise<void>;
};

/** Called with the process id of each process as soon as it is known. */
type OnSpawn = (pid: number) => void;

/** Starts an unshared broker. */
export async function startDedicatedKafka(onSpawn?: OnSpawn): Promise<DedicatedKafka> {
  if (await usesContainers()) return startKafkaContainer();
  const dir = makeDataDir('test');
  const [port = 0, controllerPort = 0] = await findFreePorts(2);
  const { brokers, stop } = await startKafka({ dir, port, controllerPort, onSpawn });
  return {
    brokers,
    async [Symbol.asyncDispose]() {
      await stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Starts an unshared Redis, which the test may freeze and kill. */
export async function startDedicatedRedis(onSpawn?: OnSpawn): Promise<DedicatedRedis> {
  if (await usesContainers()) return startDedicatedRedisContainer();
  const dir = makeDataDir('test');
  const [port = 0] = await findFreePorts(1);
  let running = await startRedis({ dir, port, onSpawn });
  return {
    url: running.url,
    freeze: async () => void process.kill(running.pid, 'SIGSTOP'),
    thaw: async () => void process.kill(running.pid, 'SIGCONT'),
    kill: () => running.kill9(),
    revive: async () => {
      running = await startRedis({ dir, port });
    },
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function startDedicatedRedisContainer(): Promise<DedicatedRedis> {
  const { getContainerRuntimeClient } = await import('testcontainers');
  const redis = await startRedisContainer();
  const { container: engine } = await getContainerRuntimeClient();
  const handle = engine.getById(redis.container.getId());
  return {
    url: redis.url,
    freeze: async () => void (await handle.pause()),
    thaw: async () => void (await handle.unpause()),
    kill: async () => void (await handle.kill()),
    revive: async () => void (await handle.start()),
    [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose](),
  };
}
