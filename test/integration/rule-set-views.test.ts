import { randomUUID } from 'node:crypto';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { referenceOf, ruleSet, tombstoneOf } from '#shared/contracts/rule-set.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeLeasedSlots } from '#shared/redis/leased-slots.ts';
import { makeRuleSets, ruleSetSlotsKey, ruleSetUsersKey } from '#shared/redis/rule-sets.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { openViews } from '#shared/views/open-views.ts';
import { rebuildViews } from '#shared/views/rebuild-views.ts';
import { makeEndRuleSets } from '../../services/result-store/end-rule-sets.ts';
import { aRuleSet } from '../support/a-rule-set.ts';
import { connectTestKafka, connectTestRedis, testConfig } from '../support/connections.ts';

// Scenario: the view of the rule sets in a real Redis, of which this file owns one database, and their topic in a real
// Kafka. What is checked is what writers, gateways and lists rely on, and that a wiped Redis comes back the same.

let kafka: KafkaConnection;
let connection: RedisConnection;
let clientId: string;
const ruleSets = () => makeRuleSets(connection.redis);
const rebuild = () =>
  rebuildViews({ ...openViews(connection.redis), kafka, now: Date.now, log: makeSilentLogger() });
const idsOf = async (page: { after?: string; countMax: number }) => {
  const listed = await ruleSets().list(clientId, page);
  return { ids: listed.ruleSets.map(({ id }) => id), hasMore: listed.hasMore };
};

beforeAll(async () => {
  const config = testConfig(3);
  connection = await connectTestRedis(config);
  kafka = await connectTestKafka(config);
});

afterAll(async () => {
  await kafka[Symbol.asyncDispose]();
  await connection[Symbol.asyncDispose]();
});

beforeEach(async () => {
  clientId = `app_${randomUUID()}`;
  await connection.redis.flushdb();
  await rebuild();
});

test('a list is ordered by id, in pages, and holds no other app', async () => {
  for (const id of ['b', 'a-2', 'c', 'a.1']) await ruleSets().project(aRuleSet(clientId, id));
  await ruleSets().project(aRuleSet(`${clientId}x`, 'z'));
  expect(await idsOf({ countMax: 2 })).toEqual({ ids: ['a-2', 'a.1'], hasMore: true });
  expect(await idsOf({ after: 'a.1', countMax: 2 })).toEqual({ ids: ['b', 'c'], hasMore: false });
  expect(await idsOf({ after: 'c', countMax: 2 })).toEqual({ ids: [], hasMore: false });
});

test('a page of large rule sets ends early and says that there are more', async () => {
  const rules = [{ type: 'NATIVE', chainId: 1, roleId: 'r', description: 'x'.repeat(600_000) }];
  for (const id of ['a', 'b', 'c']) await ruleSets().project(aRuleSet(clientId, id, { rules }));
  expect(await idsOf({ countMax: 200 })).toEqual({ ids: ['a'], hasMore: true });
  expect(await idsOf({ after: 'b', countMax: 200 })).toEqual({ ids: ['c'], hasMore: false });
});

test('a deleted rule set is not found, and frees its slot', async () => {
  const slots = makeLeasedSlots(connection.redis);
  const take = (id: string) => slots.take(ruleSetSlotsKey(clientId), id, 1);
  expect(await take('a')).toBe(true);
  await ruleSets().project(aRuleSet(clientId, 'a'));
  expect(await take('b')).toBe(false);
  await ruleSets().project(tombstoneOf(aRuleSet(clientId, 'a'), new Date().toISOString()));
  expect(await ruleSets().read(clientId, 'a')).toBeUndefined();
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: [], hasMore: false });
  expect(await take('b')).toBe(true);
});

test('a rule set made again after its tombstone was dropped is newer than the tombstone', async () => {
  const first = await ruleSets().documents.lease(`${clientId}/a`, 0, 1_000);
  await first?.release();
  const deleted = tombstoneOf(
    aRuleSet(clientId, 'a', { version: first?.version ?? 0 }),
    new Date().toISOString(),
  );
  // Those of other tests: the view drops the tombstones of all apps.
  await ruleSets().dropEnded(Date.now() + 2 * DAY_MS, 1_000);
  await ruleSets().project(deleted);
  expect(await ruleSets().dropEnded(Date.now() + 2 * DAY_MS, 10)).toBe(1);
  expect(await ruleSets().documents.read(`${clientId}/a`)).toBeUndefined();
  const again = await ruleSets().documents.lease(`${clientId}/a`, 0, 1_000);
  expect(again?.version).toBeGreaterThan(deleted.version);
});

test('a tombstone is kept for a day', async () => {
  await ruleSets().dropEnded(Date.now() + 2 * DAY_MS, 1_000);
  await ruleSets().project(tombstoneOf(aRuleSet(clientId, 'a'), new Date().toISOString()));
  expect(await ruleSets().dropEnded(Date.now() + DAY_MS - 60_000, 10)).toBe(0);
});

test('a rule set is used while an entry of its users lasts', async () => {
  const users = ruleSetUsersKey(clientId, 'a');
  expect(await ruleSets().isUsed(clientId, 'a')).toBe(false);
  await connection.redis.zadd(users, Date.now() - 1, 'watch_1');
  expect(await ruleSets().isUsed(clientId, 'a')).toBe(false);
  await connection.redis.zadd(users, '+inf', 'watch_2');
  expect(await ruleSets().isUsed(clientId, 'a')).toBe(true);
});

test('a wiped Redis gets its rule sets, lists and slots back from the topic', async () => {
  const kept = aRuleSet(clientId, 'kept', { version: 7, rulesVersion: 3, name: 'Kept' });
  await kafka.publish(ruleSet, aRuleSet(clientId, 'kept', { version: 6 }));
  await kafka.publish(ruleSet, kept);
  await kafka.publish(ruleSet, aRuleSet(clientId, 'gone'));
  await kafka.publish(ruleSet, tombstoneOf(aRuleSet(clientId, 'gone'), new Date().toISOString()));
  await connection.redis.flushdb();
  await expect(ruleSets().read(clientId, 'kept')).rejects.toMatchObject({ code: 'view-rebuilding' });
  await rebuild();
  const found = await ruleSets().read(clientId, 'kept');
  expect(found).toEqual(kept);
  expect(found && referenceOf(found)).toEqual({ id: 'kept', version: 3, digest: kept.digest });
  expect(await ruleSets().read(clientId, 'gone')).toBeUndefined();
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: ['kept'], hasMore: false });
  expect(await makeLeasedSlots(connection.redis).take(ruleSetSlotsKey(clientId), 'other', 1)).toBe(false);
});

test('the rule sets of a deleted client app end in the view and in the topic', async () => {
  for (const id of ['a', 'b']) {
    await kafka.publish(ruleSet, aRuleSet(clientId, id));
    await ruleSets().project(aRuleSet(clientId, id));
  }
  await makeEndRuleSets({ ruleSets: ruleSets(), publish: kafka.publish, now: Date.now })(clientId);
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: [], hasMore: false });
  await connection.redis.flushdb();
  await rebuild();
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: [], hasMore: false });
});
