import type { RedisConnection } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { logLeaseKey } from '#shared/stores/watches/log-positions.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';

const CHAIN_ID = 7;
const WATCH_CONTRACTS = 50;
/** A third of the three quarters of the 1 000 places of a chain that are not kept. */
const OF_ONE_APP = 250;

let connection: RedisConnection;
beforeAll(async () => {
  connection = await connectTestRedis(testConfig(10));
  await connection.redis.flushdb();
  await connection.redis.set(GENERATION_KEY, 'test');
});
afterAll(() => connection[Symbol.asyncDispose]());
afterEach(() => connection.redis.del(logLeaseKey(CHAIN_ID)));

const contract = (place: number) => ({
  chainId: CHAIN_ID,
  contractAddress: `0x${place.toString(16).padStart(40, '0')}`,
  blockTag: 'latest' as const,
});
const contracts = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => contract(from + i));

/** A watch with the uid `<clientId>/<watchId>/1`. */
const named = (clientId: string, watchId = 'w', accountId = clientId) => ({
  ...{ clientId, watchId, accountId },
  createdAt: new Date(1).toISOString(),
});

test('one client app cannot take the contract slots of a chain that other apps need', async () => {
  const { follow, forget, list, states } = makeFollowedContracts(connection.redis);
  const followed = async () => (await list(CHAIN_ID)).length;
  const tooMany = {
    state: 'sweeps-only',
    reason: expect.stringContaining('shared by account'),
  };
  const watches = OF_ONE_APP / WATCH_CONTRACTS + 1;
  for (let i = 0; i < watches; i++)
    await follow(named('greedy', `w${i}`), contracts(i * WATCH_CONTRACTS, WATCH_CONTRACTS));
  expect(await followed()).toBe(OF_ONE_APP);
  expect(await states(`greedy/w${watches - 1}/1`, [contract(OF_ONE_APP)])).toMatchObject([tooMany]);

  // Another app has places of its own, and shares the contracts that are followed already.
  await follow(named('other'), [contract(0), contract(9_000)]);
  expect(await followed()).toBe(OF_ONE_APP + 1);
  await follow(named('greedy', 'w0'), []);
  expect(await followed()).toBe(OF_ONE_APP - WATCH_CONTRACTS + 2);
  await follow(named('greedy', `w${watches - 1}`), contracts(OF_ONE_APP, WATCH_CONTRACTS));
  expect(await followed()).toBe(OF_ONE_APP + 2);

  for (let i = 0; i < watches; i++) await forget(named('greedy', `w${i}`));
  await forget(named('other'));
  expect(await connection.redis.keys('follow*')).toEqual([]);
});

test('an account takes the places of one account, however many client apps it has', async () => {
  const { follow, forget, list } = makeFollowedContracts(connection.redis);
  const watches = Array.from({ length: 14 * 3 }, (_, i) => named(`app-${i % 14}`, `w${i}`, 'greedy'));
  for (const [i, watch] of watches.entries())
    await follow(watch, contracts(i * WATCH_CONTRACTS, WATCH_CONTRACTS));
  expect(await list(CHAIN_ID)).toHaveLength(375);
  for (const watch of watches) await forget(watch);
  expect(await connection.redis.keys('follow*')).toEqual([]);
});

test('several accounts leave a quarter of the places: an account that follows nothing still gets one', async () => {
  const { follow, list } = makeFollowedContracts(connection.redis);
  for (let account = 0; account < 30; account++)
    for (let i = 0; i < 3; i++)
      await follow(
        named(`greedy-${account}`, `w${i}`),
        contracts(account * 1_000 + i * WATCH_CONTRACTS, WATCH_CONTRACTS),
      );
  const taken = (await list(CHAIN_ID)).length;
  await follow(named('late'), [contract(40_000)]);
  expect(taken).toBeGreaterThan(700);
  expect(taken).toBeLessThan(800);
  expect(await list(CHAIN_ID)).toHaveLength(taken + 1);
});

test('the states of many contracts cost as few commands as those of one', async () => {
  const { follow, forget, setStates, states } = makeFollowedContracts(connection.redis);
  const commandCount = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await connection.redis.info('stats'))?.[1]);
  const asked = contracts(0, WATCH_CONTRACTS);
  await follow(named('app'), asked.slice(1));
  await connection.redis.set(logLeaseKey(CHAIN_ID), 'reader');
  await setStates(contract(2), [contract(2).contractAddress], { state: 'live' });
  await setStates(contract(3), [contract(3).contractAddress], { state: 'sweeps-only', reason: 'too busy' });
  const before = await commandCount();
  const found = await states('app/w/1', asked);
  expect((await commandCount()) - before).toBeLessThan(WATCH_CONTRACTS);
  expect(found.map(({ contractAddress }) => contractAddress)).toEqual(
    asked.map(({ contractAddress }) => contractAddress),
  );
  expect(found.slice(0, 4)).toMatchObject([
    { state: 'sweeps-only', reason: expect.stringContaining('At most') },
    { state: 'sweeps-only', reason: expect.stringContaining('No evaluator') },
    { state: 'live' },
    { state: 'sweeps-only', reason: 'too busy' },
  ]);
  await forget(named('app'));
});

test('a contract is followed for a watch under one block tag, until the watch is about others', async () => {
  const { follow, forget, isFollowedBy, chainsOf } = makeFollowedContracts(connection.redis);
  await follow(named('app'), [contract(0)]);
  const areFollowed = () =>
    Promise.all(
      [contract(0), { ...contract(0), blockTag: 'safe' as const }, contract(1)].map((one) =>
        isFollowedBy('app/w/1', one),
      ),
    );
  expect(await areFollowed()).toEqual([true, false, false]);
  // Which is known, unlike after a loss of Redis.
  await follow(named('app'), []);
  expect(await areFollowed()).toEqual([false, false, false]);
  expect((await chainsOf('app/w/1')).size).toBe(0);
  await forget(named('app'));
  expect(await areFollowed()).toEqual([undefined, undefined, undefined]);
});

test('a change that a sweep found without a transfer is the contract’s reason, until a transfer tells of it', async () => {
  const { follow, forget, states, setStates, noteMissed, noteSilent, withdrawSilent } = makeFollowedContracts(
    connection.redis,
  );
  const [uid, account] = ['app/silent/1', `0x${'aa'.repeat(20)}`];
  const one = { ...contract(1), chainId: CHAIN_ID + 1 };
  const change = { accounts: [account], blockNumber: 50, foundAt: '2026-11-26T12:00:00.000Z' };
  const reasonOf = async () => (await states(uid, [one]))[0]?.reason;
  await connection.redis.set(logLeaseKey(one.chainId), 'test');
  await follow(named('app', 'silent'), [one]);
  await setStates(one, [one.contractAddress], { state: 'live' });
  const followedAt = Number((await connection.redis.time())[0]) * 1_000;

  // Following had just begun, or had missed transfers, when the member was last checked.
  await noteSilent(uid, one, change, followedAt + 60_000);
  await noteMissed(uid, followedAt + 600_000);
  await noteSilent(uid, one, change, followedAt + 600_000);
  expect(await reasonOf()).toBeUndefined();

  await noteSilent(uid, one, change, followedAt + 900_000);
  expect(await states(uid, [one])).toMatchObject([
    {
      state: 'live',
      reason: expect.stringMatching(/^On 2026-11-26 a sweep found .* without a transfer event/),
    },
  ]);
  await withdrawSilent(uid, { ...one, account: `0x${'bb'.repeat(20)}`, blockNumber: 50 });
  await withdrawSilent(uid, { ...one, account, blockNumber: 51 });
  expect(await reasonOf()).toBeDefined();

  // While the contract is not followed, that is its reason.
  await setStates(one, [one.contractAddress], { state: 'sweeps-only', reason: 'No logs.' });
  expect(await reasonOf()).toBe('No logs.');
  await setStates(one, [one.contractAddress], { state: 'live' });
  await withdrawSilent(uid, { ...one, account, blockNumber: 50 });
  expect(await reasonOf()).toBeUndefined();

  await noteSilent(uid, one, change, followedAt + 900_000);
  await forget(named('app', 'silent'));
  expect(await connection.redis.keys(`*${uid}`)).toEqual([]);
});
