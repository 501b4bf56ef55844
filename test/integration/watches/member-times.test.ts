import { randomUUID } from 'node:crypto';
import { partitionOfMember, type WatchMember, watchUid } from '#shared/contracts/watches/watch.ts';
import type { Redis } from '#shared/redis/connect.ts';
import { makeWatchMembers } from '#shared/stores/watches/members/watch-members.ts';
import { makeWatchSweeps } from '#shared/stores/watches/watch-sweeps.ts';
import { aCheck, aMember, atSecond, aWatch } from '../../support/builders/a-watch.ts';
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
const uidOfTest = () => watchUid(aWatch({ clientId }));
const member = (over: Partial<WatchMember> = {}) =>
  aMember({ watchUid: uidOfTest(), memberId: 'alice', ...over });
/** Removed at `NOW`. */
const gone = () => member({ version: 2, removedAt: atSecond(1_000) });
const read = async () => (await view().readMany(uidOfTest(), ['alice']))[0];
const dueIds = async (atMs: number) =>
  (await view().due(partitionOfMember(uidOfTest(), 'alice'), atMs, 10)).map(({ memberId }) => memberId);
const remove = async () => {
  await view().write(undefined, member());
  await view().write(member(), gone());
  await view().markSent(gone());
};

test('the tombstone of a removed member is dropped after an hour', async () => {
  await remove();
  expect(await view().eraseRemoved(NOW + HOUR_MS - 1, 10, eraseRecord)).toBe(0);
  expect(await read()).toMatchObject({ removedAt: atSecond(1_000) });
  expect(await view().eraseRemoved(NOW + HOUR_MS, 10, eraseRecord)).toBe(1);
  expect(await read()).toBeUndefined();
});

test('a member that was added again is not erased, from neither view nor topic', async () => {
  await remove();
  await view().write(gone(), member({ version: 3 }));
  const erased: string[] = [];
  const eraseRecord = async (name: string) => void erased.push(name);
  expect(await view().eraseRemoved(NOW + HOUR_MS, 10, eraseRecord)).toBe(1);
  expect(erased).toEqual([]);
  expect(await read()).toMatchObject({ version: 3 });
  expect(await view().eraseRemoved(NOW + HOUR_MS, 10, eraseRecord)).toBe(0);
});

test('a member that is added again while tombstones are dropped stays', async () => {
  await remove();
  const redis = Object.create(stores.redis, {
    zrangebyscore: {
      value: async (...args: Parameters<Redis['zrangebyscore']>) => {
        const names = await stores.redis.zrangebyscore(...args);
        await view().write(gone(), member({ version: 3 }));
        return names;
      },
    },
  }) as Redis;
  await view(redis).eraseRemoved(NOW + HOUR_MS, 10, eraseRecord);
  expect(await read()).toMatchObject({ version: 3 });
});

test('a rebuild makes a member due when its grace ends', async () => {
  const back = { since: atSecond(2), why: { cause: 'transfer' as const } };
  const roles = ['gold', 'vip', 'seen'].map((id, i) => ({
    ...{ id, granted: true, since: atSecond(1) },
    heldBack: { ...back, graceUntil: atSecond(90 - 30 * i), looked: id === 'seen' },
  }));
  await view().project(member({ version: 2, checked: aCheck(2), roles }), NOW);
  const graceEndsMs = Date.parse(atSecond(60));
  expect([await dueIds(graceEndsMs - 1), await dueIds(graceEndsMs)]).toEqual([[], ['alice']]);
});

test('a rebuild makes a member due whose new wallets were not checked, or who owes a check, and keeps no old tombstone', async () => {
  await view().project(member({ walletsAt: atSecond(2) }), NOW);
  expect(await dueIds(NOW)).toEqual(['alice']);
  const checked = aCheck(2);
  await view().project(member({ version: 2, checked }), NOW);
  expect(await dueIds(NOW)).toEqual([]);
  const owed = { since: atSecond(3), blocks: { '1': 7 }, why: { cause: 'transfer' as const } };
  await view().project(member({ version: 3, checked, owed }), NOW);
  expect(await dueIds(NOW)).toEqual(['alice']);
  await stores.redis.flushdb();
  await stores.replay();
  await view().project(gone(), NOW + HOUR_MS + 1);
  expect(await read()).toBeUndefined();
});

test('a member stays due if it has become due at another time', async () => {
  const uid = uidOfTest();
  const names = [{ watchUid: uid, memberId: 'alice' }];
  await view().setDue(names, NOW);
  await view().dropDue(partitionOfMember(uid, 'alice'), names, NOW + 1);
  expect(await dueIds(NOW)).toEqual(['alice']);
  await view().dropDue(partitionOfMember(uid, 'alice'), names, NOW);
  expect(await dueIds(NOW)).toEqual([]);
});

test('the first scheduling of a watch does not defer a sweep that was requested at the same moment', async () => {
  const sweeps = makeWatchSweeps(stores.redis);
  const uid = uidOfTest();
  await sweeps.bringForward(uid, NOW);
  await sweeps.bringForward(uid, NOW + HOUR_MS);
  expect((await sweeps.next(uid))?.atMs).toBe(NOW);
});
