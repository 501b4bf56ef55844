import { randomUUID } from 'node:crypto';
import { partitionOfMember, uidOfMember, type WatchMember } from '#shared/contracts/watches/watch.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { aMember, atSecond } from '../../support/builders/a-watch.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: members of watches are added, removed and due in a real Redis, while its clean-up and
// the watcher's rounds run at the same moments.

const NOW = Date.parse(atSecond(1_000));
const HOUR_MS = 3_600_000;

const stores = testStores(14);
const eraseRecord = async () => undefined;
let clientId: string;
beforeEach(async () => {
  clientId = `app_${randomUUID()}`;
  await stores.redis.flushdb();
  await stores.replay();
});

const view = (redis: Redis = stores.redis) => makeWatchMembers(redis);
const member = (over: Partial<WatchMember> = {}) =>
  aMember({ clientId, memberId: 'alice', ref: 'alice', ...over });
const gone = () => member({ version: 2, removedAt: atSecond(2) });
const read = async () => (await view().readMany(uidOfMember(member()), ['alice']))[0];
const dueIds = async (atMs: number) =>
  (await view().due(partitionOfMember(uidOfMember(member()), 'alice'), atMs, 10)).map(
    ({ memberId }) => memberId,
  );
const remove = async () => {
  await view().write(undefined, member(), NOW);
  await view().write(member(), gone(), NOW);
};

test('the tombstone of a removed member is dropped after an hour', async () => {
  await remove();
  expect(await view().eraseRemoved(NOW + HOUR_MS - 1, 10, eraseRecord)).toBe(0);
  expect(await read()).toMatchObject({ removedAt: atSecond(2) });
  expect(await view().eraseRemoved(NOW + HOUR_MS, 10, eraseRecord)).toBe(1);
  expect(await read()).toBeUndefined();
});

test('a member that is added again while tombstones are dropped stays', async () => {
  await remove();
  const redis = Object.create(stores.redis, {
    zrangebyscore: {
      value: async (...args: Parameters<Redis['zrangebyscore']>) => {
        const names = await stores.redis.zrangebyscore(...args);
        await view().write(gone(), member({ version: 3 }), NOW + HOUR_MS);
        return names;
      },
    },
  }) as Redis;
  await view(redis).eraseRemoved(NOW + HOUR_MS, 10, eraseRecord);
  expect(await read()).toMatchObject({ version: 3 });
});

const stampOf = (second: number) => ({ rules: 'set#1 latest', walletsAt: atSecond(second) });

test('a rebuild makes a member due whose new wallets were not checked, or who owes a check, and keeps no old tombstone', async () => {
  await view().project(member({ stamp: stampOf(1), walletsAt: atSecond(2) }), NOW);
  expect(await dueIds(NOW)).toEqual(['alice']);
  await view().project(member({ version: 2, stamp: stampOf(2), walletsAt: atSecond(2) }), NOW);
  expect(await dueIds(NOW)).toEqual([]);
  const owed = { since: atSecond(3), blocks: { '1': 7 }, cause: 'transfer' as const };
  await view().project(member({ version: 3, stamp: stampOf(2), walletsAt: atSecond(2), owed }), NOW);
  expect(await dueIds(NOW)).toEqual(['alice']);
  await stores.redis.flushdb();
  await stores.replay();
  await view().project(gone(), Date.parse(atSecond(2)) + HOUR_MS + 1);
  expect(await read()).toBeUndefined();
});

test('a member stays due if it has become due at another time', async () => {
  const uid = uidOfMember(member());
  const names = [{ uid, memberId: 'alice' }];
  await view().setDue(names, NOW);
  await view().dropDue(partitionOfMember(uid, 'alice'), names, NOW + 1);
  expect(await dueIds(NOW)).toEqual(['alice']);
  await view().dropDue(partitionOfMember(uid, 'alice'), names, NOW);
  expect(await dueIds(NOW)).toEqual([]);
});

test('the first scheduling of a watch does not defer a sweep that was requested at the same moment', async () => {
  const sweeps = makeWatchSweeps(stores.redis);
  const uid = uidOfMember(member());
  await sweeps.bringForward(uid, NOW);
  await sweeps.bringForward(uid, NOW + HOUR_MS);
  expect((await sweeps.next(uid))?.atMs).toBe(NOW);
});
