import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChain } from '../../deploy/local/chain.ts';
import { startKafka } from '../../deploy/local/kafka.ts';
import { findFreePorts } from '../../deploy/local/ports.ts';
import { startRedis } from '../../deploy/local/redis.ts';

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
 * Starts what the environment does not name already: `TEST_KAFKA_BROKERS`, `TEST_REDIS_URL`, `TEST_RPC_URL` first,
 * else this machine's own. Started once per run and shared; disposal stops what was started.
 */
export async function startInfrastructure(): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  try {
    const dir = mkdtempSync(join(tmpdir(), 'rolecall-test-'));
    stack.defer(() => rmSync(dir, { recursive: true, force: true }));
    const [port = 0, controllerPort = 0, redisPort = 0, chainPort = 0] = await findFreePorts(4);
    const missing = (name: string): boolean => !process.env[name];
    await Promise.all([
      missing(VARIABLES.brokers) &&
        startKafka({ dir: join(dir, 'kafka'), port, controllerPort }).then((kafka) => {
          stack.use(kafka);
          process.env[VARIABLES.brokers] = kafka.brokers;
        }),
      missing(VARIABLES.redisUrl) &&
        startRedis({ dir: join(dir, 'redis'), port: redisPort }).then((redis) => {
          stack.use(redis);
          process.env[VARIABLES.redisUrl] = redis.url;
        }),
      missing(VARIABLES.rpcUrl) &&
        startChain({ port: chainPort }).then((chain) => {
          stack.use(chain);
          process.env[VARIABLES.rpcUrl] = chain.rpc;
        }),
    ]);
    return stack;
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}
