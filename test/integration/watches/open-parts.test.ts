import type { RedisConnection } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeOpenParts, type OpenParts } from '../../../services/watcher/members/open-parts.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

let connection: RedisConnection;
let parts: OpenParts;
beforeAll(async () => {
  connection = await connectTestRedis(testConfig(10));
  parts = makeOpenParts(connection.redis);
});
afterAll(() => connection[Symbol.asyncDispose]());
beforeEach(async () => {
  await connection.redis.flushdb();
  await connection.redis.set(GENERATION_KEY, 'test');
});

const appOf = (accountId: string, app: number) => ({ accountId, clientId: `${accountId}-${app}` });

/** The parts that each of so many apps opens in turn until none can; their ids. */
async function openAll(accountId: string, apps: number, kind: { isOfSweep?: boolean } = {}) {
  const ids: string[] = [];
  for (let isOpen = true; isOpen; ) {
    isOpen = false;
    for (let app = 0; app < apps; app++) {
      const id = `${accountId}/${kind.isOfSweep === true}/${ids.length}`;
      if (!(await parts.take(appOf(accountId, app), id, kind))) continue;
      ids.push(id);
      isOpen = true;
    }
  }
  return ids;
}

test('a client app opens at most 500 parts, 400 of them of sweeps', async () => {
  expect(await openAll('acc', 1, { isOfSweep: true })).toHaveLength(400);
  expect(await openAll('acc', 1)).toHaveLength(100);
});

test('an account opens as many parts as one account, however many client apps it has, and others find places', async () => {
  const ids = await openAll('greedy', 20);
  // Its apps leave each other some of the three eighths of 2 000.
  expect(ids.length).toBeGreaterThan(700);
  expect(ids.length).toBeLessThanOrEqual(750);
  expect(await parts.take(appOf('victim', 0), 'first', { isOfSweep: true })).toBe(true);
  for (const id of [...ids, 'first']) await parts.give(id);
  expect(await connection.redis.keys('watch-parts:*')).toEqual([]);
});

test('a part whose result is lost no longer counts after its time', async () => {
  const ids = await openAll('acc', 1);
  for (const id of ids.slice(0, 10)) await connection.redis.zadd('watch-parts:held-until', 1, id);
  expect(await openAll('acc', 1)).toHaveLength(10);
});
