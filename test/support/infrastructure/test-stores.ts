import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { type Replay, type ReplayCounts, replayTopics } from '#shared/stores/replay/replay-topics.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { connectTestKafka, connectTestRedis, testConfig } from './connections.ts';

type TestStores = {
  readonly connection: RedisConnection;
  readonly redis: RedisConnection['redis'];
  readonly kafka: KafkaConnection;
  /** The dependencies of a rebuild of the views. */
  readonly forReplay: () => Replay;
  readonly replay: () => Promise<ReplayCounts | undefined>;
};

/**
 * The broker, and the Redis database of a test file: connected before its tests, closed after them.
 *
 * @example
 * const stores = testStores(3);
 * beforeEach(() => stores.redis.flushdb());
 */
export function testStores(redisDatabase: number): TestStores {
  let connection: RedisConnection;
  let kafka: KafkaConnection;
  beforeAll(async () => {
    const config = testConfig(redisDatabase);
    connection = await connectTestRedis(config);
    kafka = await connectTestKafka(config);
  });
  afterAll(async () => {
    await kafka?.[Symbol.asyncDispose]();
    await connection?.[Symbol.asyncDispose]();
  });
  const forReplay = () => ({
    redis: connection.redis,
    kafka,
    now: Date.now,
    log: makeSilentLogger(),
  });
  return {
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
  };
}
