import type { RedisConnection } from '#shared/redis/connect.ts';
import { type ChainState, makeChainStates } from '#shared/stores/checks/chain-states.ts';
import { connectTestRedis, testConfig } from '../../support/infrastructure/connections.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: several evaluators report of one chain what each of them finds.

const CHAIN = 7;

let connection: RedisConnection;
beforeAll(async () => {
  connection = await connectTestRedis(testConfig(10));
});
beforeEach(() => connection.redis.flushdb());
afterAll(() => connection[Symbol.asyncDispose]());

/** Reports count for long unless told otherwise, so that no report of a test ends by itself. */
function chainOf(latelyMs = 600_000) {
  const { report, read } = makeChainStates(connection.redis, latelyMs);
  return {
    report: (...reports: boolean[]) =>
      reports.reduce(
        (done, isReadable) => done.then(() => report(new Map([[CHAIN, isReadable]]))),
        Promise.resolve(),
      ),
    read: async (): Promise<ChainState | undefined> => (await read([CHAIN])).get(CHAIN),
  };
}

test('a chain that no evaluator reports is unknown, and so is one whose last report is old', async () => {
  const { report, read } = chainOf(50);
  expect(await read()).toEqual({ state: 'unknown' });
  await report(true);
  await waitUntil('the report to be old', async () => (await read())?.state === 'unknown');
  expect(await read()).toEqual({ state: 'unknown' });
});

test('a chain is ok if any evaluator reads it, and down if none of those that report does', async () => {
  const { report, read } = chainOf();
  await report(false, false);
  expect(await read()).toEqual({ state: 'down', since: expect.any(String) });
  await report(true, false, false);
  expect(await read()).toEqual({ state: 'ok', since: expect.any(String) });
});

test('a chain that was read becomes down when nobody has read it lately', async () => {
  const { report, read } = chainOf(400);
  await report(true);
  const state = await waitUntil('the chain to be down', async () => {
    await report(false);
    const found = await read();
    return found?.state === 'down' && found;
  });
  expect(state).toEqual({ state: 'down', since: expect.any(String) });
});

test('since is the instant of the last change, and stays while the state does', async () => {
  const { report, read } = chainOf();
  await report(false);
  const before = await read();
  const instant = await connection.redis.time();
  await waitUntil('the clock to move on', async () => (await connection.redis.time())[0] !== instant[0]);
  await report(false);
  expect(await read()).toEqual(before);
  await report(true);
  const after = await read();
  if (before?.state !== 'down' || after?.state !== 'ok') throw new Error('the states are not known');
  expect(Date.parse(after.since)).toBeGreaterThan(Date.parse(before.since));
  expect(Math.abs(Date.parse(after.since) - Number((await connection.redis.time())[0]) * 1_000)).toBeLessThan(
    60_000,
  );
});
