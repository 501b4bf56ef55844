import { randomUUID } from 'node:crypto';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { referenceOf, ruleSet, tombstoneOf } from '#shared/contracts/rules/rule-set.ts';
import { makeLeasedSlots } from '#shared/fairness/leased-slots.ts';
import { makeRuleSets, ruleSetSlotsKey, ruleSetUsersKey } from '#shared/stores/rules/rule-sets.ts';
import type { Dependencies } from '../../../services/result-store/dependencies.ts';
import { endRuleSets } from '../../../services/result-store/project/erase-deleted.ts';
import { aRuleSet } from '../../support/builders/a-rule-set.ts';
import { partially } from '../../support/builders/partially.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: the view of the rule sets is in a database of a real Redis that only this file uses,
// and their topic is in a real Kafka. The tests check what writers, gateways and lists rely on, and
// that a wiped Redis gets everything back.

const stores = testStores(3);
const eraseRecord = async () => undefined;
let clientId: string;
const ruleSets = () => makeRuleSets(stores.redis);
const { replay } = stores;
/** The deletion of a rule set that no watch refers to; nothing while another one is under way. */
const beginDeletion = async () => {
  const begun = await ruleSets().beginDeletion(clientId, 'a');
  if (begun === 'in-use') throw new Error('a watch refers to the rule set');
  return begun;
};
const idsOf = async (page: { after?: string; countMax: number }) => {
  const listed = await ruleSets().list(clientId, page);
  return { ids: listed.ruleSets.map(({ id }) => id), next: listed.next };
};

beforeEach(async () => {
  clientId = `app_${randomUUID()}`;
  await stores.redis.flushdb();
  await replay();
});

test('a list is ordered by id, in pages, and holds rule sets of its own app only', async () => {
  for (const id of ['b', 'a-2', 'c', 'a.1']) await ruleSets().project(aRuleSet(clientId, id));
  await ruleSets().project(aRuleSet(`${clientId}x`, 'z'));
  expect(await idsOf({ countMax: 2 })).toEqual({ ids: ['a-2', 'a.1'], next: 'a.1' });
  expect(await idsOf({ after: 'a.1', countMax: 2 })).toEqual({ ids: ['b', 'c'], next: undefined });
  expect(await idsOf({ after: 'c', countMax: 2 })).toEqual({ ids: [], next: undefined });
});

test('a page of large rule sets ends early and reports that there are more', async () => {
  const rules = [{ type: 'NATIVE', chainId: 1, roleId: 'r', description: 'x'.repeat(600_000) }];
  for (const id of ['a', 'b', 'c']) await ruleSets().project(aRuleSet(clientId, id, { rules }));
  expect(await idsOf({ countMax: 200 })).toEqual({ ids: ['a'], next: 'a' });
  expect(await idsOf({ after: 'b', countMax: 200 })).toEqual({ ids: ['c'], next: undefined });
});

test('a rule set is sent again only where it has another version than the known one', async () => {
  await ruleSets().project(aRuleSet('app_again', 'set'));
  const known = await ruleSets().read('app_again', 'set');
  expect(await ruleSets().read('app_again', 'set', known)).toBe(known);
  await ruleSets().project(aRuleSet('app_again', 'set', { version: 2, rulesVersion: 2 }));
  expect(await ruleSets().read('app_again', 'set', known)).toMatchObject({ version: 2 });
});

test('a deleted rule set is not found, and frees its slot', async () => {
  const slots = makeLeasedSlots(stores.redis);
  const take = async (id: string) => (await slots.take(ruleSetSlotsKey(clientId), id, 1)) !== undefined;
  expect(await take('a')).toBe(true);
  await ruleSets().project(aRuleSet(clientId, 'a'));
  expect(await take('b')).toBe(false);
  await ruleSets().project(tombstoneOf(aRuleSet(clientId, 'a'), new Date().toISOString()));
  expect(await ruleSets().read(clientId, 'a')).toBeUndefined();
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: [], next: undefined });
  expect(await take('b')).toBe(true);
});

test('a released slot is free at once, unless a later lease or a rule set holds it', async () => {
  const slots = makeLeasedSlots(stores.redis);
  const take = (id: string) => slots.take(ruleSetSlotsKey(clientId), id, 1);
  const first = await take('a');
  const second = await take('a');
  await first?.release();
  expect(await take('b')).toBeUndefined();
  await second?.release();
  const third = await take('b');
  await ruleSets().project(aRuleSet(clientId, 'b'));
  await third?.release();
  await (await take('b'))?.release();
  expect(await take('c')).toBeUndefined();
});

test('erasing a tombstone leaves the slot that the next rule set of its id has taken', async () => {
  const slots = makeLeasedSlots(stores.redis);
  const take = async (id: string) => (await slots.take(ruleSetSlotsKey(clientId), id, 1)) !== undefined;
  await ruleSets().project(tombstoneOf(aRuleSet(clientId, 'a'), new Date().toISOString()));
  const taken: boolean[] = [];
  const takeMeanwhile = async (key: string) => {
    // Those of the other tests end too.
    if (key === `${clientId}/a`) taken.push(await take('a'));
  };
  await ruleSets().eraseEnded(Date.now() + 2 * DAY_MS, 100, takeMeanwhile);
  expect(await ruleSets().documents.read(`${clientId}/a`)).toBeUndefined();
  expect([...taken, await take('b')]).toEqual([true, false]);
});

test('a rule set made again after its tombstone was dropped is newer than the tombstone', async () => {
  const first = await ruleSets().documents.lease(`${clientId}/a`, 0, 1_000);
  await first?.release();
  const deleted = tombstoneOf(
    aRuleSet(clientId, 'a', { version: first?.version ?? 0 }),
    new Date().toISOString(),
  );
  // Tombstones of other tests count too: the view drops the tombstones of all apps.
  await ruleSets().eraseEnded(Date.now() + 2 * DAY_MS, 1_000, eraseRecord);
  await ruleSets().project(deleted);
  expect(await ruleSets().eraseEnded(Date.now() + 2 * DAY_MS, 10, eraseRecord)).toBe(1);
  expect(await ruleSets().documents.read(`${clientId}/a`)).toBeUndefined();
  // The version is a time in ms, and a tombstone is kept for a day.
  await waitUntil('a later millisecond', () => Date.now() > deleted.version + 1);
  const again = await ruleSets().documents.lease(`${clientId}/a`, 0, 1_000);
  expect(again?.version).toBeGreaterThan(deleted.version);
});

test('a tombstone is kept for a day', async () => {
  await ruleSets().eraseEnded(Date.now() + 2 * DAY_MS, 1_000, eraseRecord);
  await ruleSets().project(tombstoneOf(aRuleSet(clientId, 'a'), new Date().toISOString()));
  expect(await ruleSets().eraseEnded(Date.now() + DAY_MS - 60_000, 10, eraseRecord)).toBe(0);
});

test('a rule set is not deleted while a watch refers to it, or is about to', async () => {
  const [users, view] = [ruleSetUsersKey(clientId, 'a'), ruleSets()];
  await stores.redis.zadd(users, Date.now() - 1, 'watch_1');
  const first = await beginDeletion();
  await first?.release();
  expect(await stores.redis.exists(users)).toBe(0);
  const holds = [await view.hold(clientId, 'a'), await view.hold(clientId, 'a')];
  await holds[0]?.release();
  expect(await view.beginDeletion(clientId, 'a')).toBe('in-use');
  await holds[1]?.release();
  const second = await beginDeletion();
  expect([first, second]).not.toContain(undefined);
  await second?.release();
  await stores.redis.zadd(users, '+inf', 'watch_2');
  expect(await view.beginDeletion(clientId, 'a')).toBe('in-use');
});

test('no watch refers to a rule set whose deletion is under way', async () => {
  const view = ruleSets();
  const first = await beginDeletion();
  expect(await view.hold(clientId, 'a')).toBeUndefined();
  expect(await view.hold(clientId, 'b')).toBeDefined();
  await first?.release();
  expect(await view.hold(clientId, 'a')).toBeDefined();
});

test('a second deletion does not replace the mark of the first', async () => {
  const view = ruleSets();
  const first = await beginDeletion();
  const second = await beginDeletion();
  await second?.release();
  expect([first === undefined, second === undefined]).toEqual([false, true]);
  expect(await view.hold(clientId, 'a')).toBeUndefined();
  await first?.release();
  expect(await beginDeletion()).toBeDefined();
});

test('a wiped Redis gets its rule sets, lists and slots back from the topic', async () => {
  const kept = aRuleSet(clientId, 'kept', { version: 7, rulesVersion: 3, name: 'Kept' });
  await stores.kafka.publish(ruleSet, aRuleSet(clientId, 'kept', { version: 6 }));
  await stores.kafka.publish(ruleSet, kept);
  await stores.kafka.publish(ruleSet, aRuleSet(clientId, 'gone'));
  await stores.kafka.publish(ruleSet, tombstoneOf(aRuleSet(clientId, 'gone'), new Date().toISOString()));
  await stores.redis.flushdb();
  await expect(ruleSets().read(clientId, 'kept')).rejects.toMatchObject({ code: 'view-rebuilding' });
  await replay();
  const found = await ruleSets().read(clientId, 'kept');
  expect(found).toEqual(kept);
  expect(found && referenceOf(found)).toEqual({ id: 'kept', version: 3, digest: kept.digest });
  expect(await ruleSets().read(clientId, 'gone')).toBeUndefined();
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: ['kept'], next: undefined });
  expect(await makeLeasedSlots(stores.redis).take(ruleSetSlotsKey(clientId), 'other', 1)).toBeUndefined();
});

test('deleting a client app removes its rule sets from the view and the topic', async () => {
  for (const id of ['a', 'b']) {
    await stores.kafka.publish(ruleSet, aRuleSet(clientId, id));
    await ruleSets().project(aRuleSet(clientId, id));
  }
  const parts = { ruleSets: ruleSets(), kafka: { publish: stores.kafka.publish }, now: Date.now };
  await endRuleSets(partially<Dependencies>(parts), clientId);
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: [], next: undefined });
  await stores.redis.flushdb();
  await replay();
  expect(await idsOf({ countMax: 10 })).toEqual({ ids: [], next: undefined });
});
