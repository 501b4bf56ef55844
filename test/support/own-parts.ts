import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startKafka } from '../../deploy/local/kafka.ts';
import { findFreePorts } from '../../deploy/local/ports.ts';
import { startRedis } from '../../deploy/local/redis.ts';
import { startKafkaContainer, startRedisContainer, usesContainers } from './containers.ts';

/*
 * Parts that a run or a test has for itself, in containers where these are wanted, else processes of this machine.
 */

export type OwnKafka = AsyncDisposable & { readonly brokers: string };

export type OwnRedis = AsyncDisposable & {
  readonly url: string;
  /** It keeps its connections and answers nothing, until it is thawed. */
  readonly freeze: () => Promise<void>;
  readonly thaw: () => Promise<void>;
  /** Ends it at once: what a crash looks like. */
  readonly kill: () => Promise<void>;
  /** Starts it again at the same place with the same data. */
  readonly revive: () => Promise<void>;
};

/** Called with the process id of a part as soon as it has one. */
type OnSpawn = (pid: number) => void;

/** A broker of one's own. */
export async function startOwnKafka(onSpawn?: OnSpawn): Promise<OwnKafka> {
  if (await usesContainers()) return startKafkaContainer();
  const dir = makeDir();
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

/** A Redis of one's own, which the test may freeze and kill. */
export async function startOwnRedis(onSpawn?: OnSpawn): Promise<OwnRedis> {
  if (await usesContainers()) return startOwnRedisContainer();
  const dir = makeDir();
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

async function startOwnRedisContainer(): Promise<OwnRedis> {
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

const makeDir = (): string => mkdtempSync(join(tmpdir(), 'rolecall-test-'));
