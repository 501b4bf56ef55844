import { watchUid } from '#shared/contracts/watches/watch.ts';
import { makeLogPositions } from '#shared/stores/watches/log-positions.ts';
import { makeWatchChains } from '#shared/stores/watches/watch-chains.ts';
import { dueTimeOf } from '#shared/stores/watches/watches.ts';
import { atSecond, aWatch } from '../../support/builders/a-watch.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';

// Scenario: what watcher and reader of logs tell each other of a chain, in a database of a real
// Redis that only this file uses.

const stores = testStores(9);
const NOW = Date.parse(atSecond(1_000));
const WATCH = aWatch({ stalledAfterSeconds: 60 });
const UID = watchUid(WATCH);

beforeEach(async () => {
  await stores.redis.flushdb();
  await stores.replay();
});

const owing = (memberId: string, second: number) => ({
  memberId,
  owed: { since: atSecond(second), blocks: { '1': 0 }, why: { cause: 'schedule' as const } },
  unreadChains: ['1'],
});
const all = async (ids: readonly string[]) => ids.map(() => true);

describe('the sight of a chain', () => {
  const chains = () => makeWatchChains(stores.redis);

  test('is lost since the first member is owed a check of it, and back when the last one was read', async () => {
    await chains().note(WATCH, { read: new Map([['1', NOW - 5_000]]), members: [] }, NOW);
    await chains().note(WATCH, { read: new Map(), members: [owing('b', 990), owing('a', 980)] }, NOW);
    const lost = { readAt: NOW - 5_000, owedSince: Date.parse(atSecond(980)) };
    expect(await chains().sight(UID, 1, all)).toEqual(lost);
    const read = (memberId: string, at: number) =>
      chains().note(
        WATCH,
        { read: new Map([['1', at]]), members: [{ memberId, owed: undefined, unreadChains: [] }] },
        at,
      );
    await read('a', NOW + 1);
    expect((await chains().sight(UID, 1, all)).owedSince).toBe(Date.parse(atSecond(990)));
    await read('b', NOW + 2);
    expect(await chains().sight(UID, 1, all)).toEqual({ readAt: NOW + 2, owedSince: undefined });
  });

  test('forgets members that owe nothing any more', async () => {
    const members = Array.from({ length: 250 }, (_, i) => owing(`m${i}`, i));
    await chains().note(WATCH, { read: new Map(), members }, NOW);
    const areOwed = async (ids: readonly string[]) => ids.map((id) => Number(id.slice(1)) >= 240);
    expect((await chains().sight(UID, 1, areOwed)).owedSince).toBe(Date.parse(atSecond(240)));
    expect((await chains().sight(UID, 1, async (ids) => ids.map(() => false))).owedSince).toBeUndefined();
  });

  test('makes the watch due when it would be stalled, and when nothing is owed any more', async () => {
    const { key, member } = dueTimeOf(UID);
    const dueAt = async () => Number(await stores.redis.zscore(key, member));
    await chains().note(WATCH, { read: new Map(), members: [owing('a', 980)] }, NOW);
    expect(await dueAt()).toBe(NOW + 60_000);
    await chains().note(
      WATCH,
      { read: new Map([['1', NOW]]), members: [{ memberId: 'a', owed: undefined, unreadChains: [] }] },
      NOW,
    );
    expect(await dueAt()).toBe(NOW);
  });

  test('ends with its watch', async () => {
    await chains().note(WATCH, { read: new Map([['2', NOW]]), members: [owing('a', 980)] }, NOW);
    await chains().forget(UID);
    expect(await stores.redis.keys('wm-chain-*')).toEqual([]);
  });
});

describe('the reach of the reader of logs', () => {
  const positions = () => makeLogPositions(stores.redis);
  const saved = { since: 1, settledTo: 5, readTo: 7, blocks: new Map(), gaps: [] };

  test('is the block that it reads, noted by the holder of the lease alone', async () => {
    expect(await positions().reach(1, 'latest')).toEqual({ reached: undefined, readAt: undefined });
    await positions().lease(1, 'mine');
    await positions().save(1, 'latest', 'mine', saved);
    expect(await positions().reach(1, 'latest')).toEqual({ reached: 7, readAt: undefined });
    expect(await positions().noteReading(1, 'latest', 'other', 9)).toBe(false);
    expect(await positions().noteReading(1, 'latest', 'mine', 9)).toBe(true);
    await positions().noteRead(1, 'latest', 'mine');
    expect(await positions().reach(1, 'latest')).toEqual({ reached: 9, readAt: expect.any(Number) });
    // Of the position itself it is no block.
    expect((await positions().load(1, 'latest'))?.blocks.size).toBe(0);
  });

  test('has the last 16 forks, the newest first', async () => {
    await positions().lease(1, 'mine');
    expect(await positions().noteFork(1, 'other', 3)).toBe(false);
    for (let from = 1; from <= 20; from++) expect(await positions().noteFork(1, 'mine', from)).toBe(true);
    const forks = await positions().forks('1');
    expect([forks.length, forks[0]?.from, forks[15]?.from]).toEqual([16, 20, 5]);
    expect(forks[0]?.knownAt).toEqual(expect.any(Number));
  });
});
