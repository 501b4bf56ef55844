import type { CommonConfig } from '#shared/config.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { type Replay, type ReplayCounts, replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { connectTestKafka, connectTestRedis, testConfig } from './connections.ts';

export type TestStores = {
  readonly config: CommonConfig;
  readonly connection: RedisConnection;
  readonly redis: RedisConnection['redis'];
  readonly kafka: KafkaConnection;
  /** The dependencies of a rebuild of the views. */
  readonly forReplay: () => Replay;
  readonly replay: () => Promise<ReplayCounts | undefined>;
  /** Ends a part after the tests, before the stores. */
  readonly use: <T extends AsyncDisposable>(part: T | Promise<T>) => Promise<T>;
};

/**
 * The broker, and the Redis database of a test file: connected before its tests, closed after them.
 *
 * @example
 * const stores = testStores(3);
 * beforeEach(() => stores.redis.flushdb());
 */
export function testStores(redisDatabase: number): TestStores {
  const config = testConfig(redisDatabase);
  const stack = new AsyncDisposableStack();
  let connection: RedisConnection;
  let kafka: KafkaConnection;
  beforeAll(async () => {
    connection = stack.use(await connectTestRedis(config));
    kafka = stack.use(await connectTestKafka(config));
  });
  afterAll(() => stack.disposeAsync());
  const forReplay = () => ({
    redis: connection.redis,
    kafka,
    now: Date.now,
    log: makeSilentLogger(),
  });
  return {
    config,
    get connection() {
      return connection;
    },
    get redis() {
      return connection.redis;
    },
    get kafka() {
      return kafka;
    },
    forReplay,
    replay: () => replayTopics(forReplay()),
    use: async (part) => stack.use(await part),
  };
}
