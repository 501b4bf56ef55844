import { startChain } from '../../deploy/local/chain.ts';
import { findFreePorts } from '../../deploy/local/ports.ts';
import { startOwnKafka, startOwnRedis } from './own-parts.ts';

/** Where the shared infrastructure of a test run is. The global set-up puts it into the environment. */
export type Infrastructure = { readonly brokers: string; readonly redisUrl: string; readonly rpcUrl: string };

const VARIABLES = {
  brokers: 'TEST_KAFKA_BROKERS',
  redisUrl: 'TEST_REDIS_URL',
  rpcUrl: 'TEST_RPC_URL',
} as const;

/** The infrastructure of this run. */
export function infrastructure(): Infrastructure {
  const read = (name: string): string => {
    const value = process.env[name];
    if (!value) throw new Error(`${name} is not set: run this test by npm test or npm run test:integration`);
    return value;
  };
  return {
    brokers: read(VARIABLES.brokers),
    redisUrl: read(VARIABLES.redisUrl),
    rpcUrl: read(VARIABLES.rpcUrl),
  };
}

/**
 * Starts what the environment does not name already: `TEST_KAFKA_BROKERS`, `TEST_REDIS_URL`, `TEST_RPC_URL` first, else
 * containers where `TEST_CONTAINERS=1` asks for them, else this machine's own (the chain always: it is a package).
 * Started once per run and shared; disposal stops what was started.
 */
export async function startInfrastructure(): Promise<AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const provide = async (name: string, start: () => Promise<AsyncDisposable & { readonly at: string }>) => {
    if (process.env[name]) return;
    const { at } = stack.use(await start());
    process.env[name] = at;
  };
  await Promise.all([
    provide(VARIABLES.brokers, async () => {
      const kafka = await startOwnKafka();
      return Object.assign(kafka, { at: kafka.brokers });
    }),
    provide(VARIABLES.redisUrl, async () => {
      const redis = await startOwnRedis();
      return Object.assign(redis, { at: redis.url });
    }),
    provide(VARIABLES.rpcUrl, async () => {
      const [port = 0] = await findFreePorts(1);
      const chain = await startChain({ port });
      return Object.assign(chain, { at: chain.rpc });
    }),
  ]);
  return stack.move();
}
