import { Kafka, logLevel } from 'kafkajs';
import { ALL_TOPICS } from '#shared/contracts/topics.ts';
import { applyTopics } from '#shared/kafka/topics-admin.ts';
import { startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { startWatchdog } from '../../../deploy/local/processes/start-watchdog.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { startDedicatedKafka, startDedicatedRedis } from '../infrastructure/dedicated-infrastructure.ts';
import { type Infrastructure, VARIABLES } from '../infrastructure/infrastructure.ts';

/**
 * Starts the infrastructure that the environment does not name: `TEST_KAFKA_BROKERS`,
 * `TEST_REDIS_URL`, `TEST_RPC_URL` first, else containers where `TEST_CONTAINERS=1` asks for them,
 * else this machine's own (the chain always: it is a package). The broker has all topics then.
 * Disposal stops the started processes; a watchdog does if this process dies first, as by Ctrl-C.
 */
export async function startInfrastructure(): Promise<Infrastructure & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const watchdog = stack.use(await startWatchdog());
  const onSpawn = (pid: number) => watchdog.watch(pid, 'infrastructure');
  const named = (name: string): string | undefined => process.env[name] || undefined;
  const starting = [
    named(VARIABLES.brokers) ?? startDedicatedKafka(onSpawn).then((kafka) => stack.use(kafka).brokers),
    named(VARIABLES.redisUrl) ?? startDedicatedRedis(onSpawn).then((redis) => stack.use(redis).url),
    named(VARIABLES.rpcUrl) ?? startOwnChain(onSpawn).then((chain) => stack.use(chain).rpc),
  ] as const;
  // Where one does not start, the others are stopped once they have.
  await Promise.allSettled(starting);
  const [brokers, redisUrl, rpcUrl] = await Promise.all(starting);
  await createTopics(brokers);
  const started = stack.move();
  return { brokers, redisUrl, rpcUrl, [Symbol.asyncDispose]: () => started.disposeAsync() };
}

async function startOwnChain(onSpawn: (pid: number) => void) {
  const [port = 0] = await findFreePorts(1);
  return startChain({ port, onSpawn });
}

async function createTopics(brokers: string): Promise<void> {
  const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await applyTopics(admin, ALL_TOPICS);
  await admin.disconnect();
}
