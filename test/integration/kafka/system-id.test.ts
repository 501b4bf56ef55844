import { randomUUID } from 'node:crypto';
import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { connectKafka } from '#shared/kafka/connect.ts';
import { readLag } from '#shared/kafka/lag.ts';
import { applyTopics, verifyTopics } from '#shared/kafka/topics-admin.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { makeScript } from '#shared/redis/script.ts';
import { subscribe } from '#shared/redis/subscribe.ts';
import { aCheckCompleted } from '../../support/builders/a-check-completed.ts';
import {
  connectTestKafka,
  connectTestRedis,
  testConfig,
  testContext,
} from '../../support/infrastructure/connections.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two systems on one broker and one Redis. The code of both uses the same names.

const plain = testConfig(9);
const ofSystem = (id: string) => ({
  ...plain,
  kafka: { ...plain.kafka, prefix: `${id}.` },
  redis: { ...plain.redis, keyPrefix: `${id}:` },
});

/** Only the topic of the test exists in the system. */
const connect = (id: string) => connectKafka(ofSystem(id), 'test', testContext(), { mustHaveTopics: false });

test('each system reads and writes its own topics and groups, under their common names', async () => {
  const [one, two] = [`one-${randomUUID()}`, `two-${randomUUID()}`];
  await using all = await connectTestKafka(plain);
  await using first = await connect(one);
  await using second = await connect(two);
  const topic = { ...checkCompleted, name: `shared.${randomUUID()}` };
  for (const { admin } of [first, second]) {
    expect(await applyTopics(admin, [topic])).toMatchObject({ created: [topic.name] });
    expect(await applyTopics(admin, [topic])).toMatchObject({ created: [], changed: [], unchanged: 1 });
    await verifyTopics(admin, [topic], testContext().log);
    expect(await admin.listTopics()).toEqual([topic.name]);
  }
  expect(await all.admin.listTopics()).toEqual(
    expect.arrayContaining([`${one}.${topic.name}`, `${two}.${topic.name}`]),
  );

  const message = aCheckCompleted(randomUUID());
  await first.publish(topic, message);
  const handled: string[] = [];
  const groupId = `group.${randomUUID()}`;
  const consuming = {
    groupId,
    topics: [topic],
    window: 4,
    handle: async ({ requestId }: CheckCompleted) => void handled.push(requestId),
  };
  await using _ = await first.consume<CheckCompleted>(consuming);
  await using __ = await second.consume<CheckCompleted>(consuming);
  await waitUntil('the record', () => handled.length > 0);
  const lag = async () => (await readLag(first.admin, { [groupId]: [topic] }))[groupId]?.[topic.name];
  await waitUntil('the commit', async () => (await lag()) === 0);
  expect(handled).toEqual([message.requestId]);
  const groups = (await all.admin.listGroups()).groups.map((group) => group.groupId);
  expect(groups).toEqual(expect.arrayContaining([`${one}.${groupId}`, `${two}.${groupId}`]));

  const read = new Map([one, two].map((id) => [id, 0]));
  for (const [id, { readTopic }] of [
    [one, first],
    [two, second],
  ] as const)
    await readTopic({
      topic: topic.name,
      apply: async (records) => void read.set(id, (read.get(id) ?? 0) + records.length),
    });
  expect([...read.values()]).toEqual([1, 0]);
});

test('keys, keys that scripts make, and channels of a system have its prefix', async () => {
  await using all = await connectTestRedis(plain);
  await using store = await connectTestRedis({ ...ofSystem('one'), kafka: plain.kafka });
  const { redis } = store;
  const received: string[] = [];
  await subscribe(await store.subscriber(), 'channel', {
    onMessage: (message) => void received.push(message),
    onGap: () => undefined,
  });
  const lua = `
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', ofSystem('made:' .. ARGV[1]), ARGV[1])
redis.call('PUBLISH', ofSystem('channel'), ARGV[1])
return 1`;
  await makeScript<number>(redis, lua)(['given:1'], ['1']);
  const batched = makeBatchedScript<number>(redis, lua);
  await Promise.all([batched(['given:2'], ['2']), batched(['given:3'], ['3'])]);
  await redis.hset('direct', 'field', 'value');
  const names = ['direct', 'given:1', 'given:2', 'given:3', 'made:1', 'made:2', 'made:3'];
  const keys = await all.redis.keys('*');
  expect(keys.filter((key) => !key.includes(':view:')).sort()).toEqual(names.map((name) => `one:${name}`));
  expect(keys.every((key) => key.startsWith('one:') || key.startsWith('view:'))).toBe(true);
  await waitUntil('the messages', () => received.length === 3);
  expect(received).toEqual(['1', '2', '3']);
});
