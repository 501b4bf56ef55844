import { ServiceError } from '#shared/errors.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { joinSystem } from '#shared/stores/replay/join-system.ts';
import { connectTestRedis, testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: processes that start with a Redis that is theirs, another system's, empty, or wiped,
// while others run or not. Kafka is what it says about its cluster and its groups.

const config = testConfig(11, { KAFKA_SESSION_TIMEOUT_MS: '1500' });
let store: RedisConnection;
beforeEach(async () => {
  store = await connectTestRedis(config);
});
afterEach(() => store[Symbol.asyncDispose]());

/** Kafka that names a member in so many answers, and none in the next. */
const aKafka = (memberAnswers: number, clusterId = 'cluster-1') => {
  let asked = 0;
  const describeGroups = async () => {
    const members = asked++ < memberAnswers ? [{}] : [];
    return { groups: [{ members }] } as never;
  };
  return { clusterId, admin: { describeGroups } };
};

const join = (kafka: ReturnType<typeof aKafka>, fail: (error: unknown) => void = testContext().fail) =>
  joinSystem({ kafka, redis: store.redis, config, context: { ...testContext(), fail } });

test('starts on an empty Redis while no process runs, and marks it as the cluster’s', async () => {
  await using _ = await join(aKafka(0));
  expect(await store.redis.get('system:kafka')).toBe('cluster-1');
  await expect(join(aKafka(0, 'cluster-2'))).rejects.toThrow(
    'REDIS_URL and KAFKA_BROKERS name two systems: this Redis holds what is on the Kafka cluster cluster-1, and this is the cluster cluster-2',
  );
});

test('refuses an empty Redis, and an unused Redis, while processes run', async () => {
  const refused = { code: 'config-invalid', message: expect.stringContaining('another Redis than the one') };
  await expect(join(aKafka(Infinity))).rejects.toMatchObject(refused);
  expect(await store.redis.dbsize()).toBe(0);
  await store.redis.set('system:kafka', 'cluster-1');
  await expect(join(aKafka(Infinity))).rejects.toMatchObject(refused);
});

test('waits for members that died to be gone', async () => {
  await using _ = await join(aKafka(3));
  expect(await store.redis.get('system:running')).toBe('1');
});

test('starts on a Redis that was wiped under running processes, which show themselves in it', async () => {
  await using _ = await join(aKafka(0));
  await store.redis.flushdb();
  await using __ = await join(aKafka(Infinity));
  expect(await store.redis.get('system:kafka')).toBe('cluster-1');
});

test('ends a running process when another system’s Redis is behind the same name', async () => {
  const failures: unknown[] = [];
  await using _ = await join(aKafka(0), (error) => void failures.push(error));
  await store.redis.set('system:kafka', 'cluster-2');
  await waitUntil('the end', () => failures.length > 0);
  expect(failures[0]).toBeInstanceOf(ServiceError);
  expect(await store.redis.get('system:kafka')).toBe('cluster-2');
});
