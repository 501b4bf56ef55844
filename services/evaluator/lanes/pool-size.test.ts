import { startPoolSize } from './pool-size.ts';

type Admin = Parameters<typeof startPoolSize>[0];
type Groups = Awaited<ReturnType<Admin['describeGroups']>>;

/** A broker with a group of this many members, or an unreachable one. */
function aBroker(memberCount: number | undefined) {
  const state = { memberCount, asked: [] as string[][] };
  const admin: Admin = {
    describeGroups: async (groupIds) => {
      state.asked.push(groupIds);
      if (state.memberCount === undefined) throw new Error('the broker is away');
      return { groups: [{ members: Array(state.memberCount).fill({}) }] } as unknown as Groups;
    },
  };
  return { state, admin };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('the pool size is 1 until the broker has answered', async () => {
  const { state, admin } = aBroker(3);
  await using pool = startPoolSize(admin, 'evaluator.bulk');
  expect([pool.size(), state.asked]).toEqual([1, []]);
});

test('the members of the group are counted at a rebalance and every five seconds', async () => {
  const { state, admin } = aBroker(3);
  await using pool = startPoolSize(admin, 'evaluator.bulk');
  await pool.refresh();
  expect([pool.size(), state.asked]).toEqual([3, [['evaluator.bulk']]]);
  state.memberCount = 4;
  await jest.advanceTimersByTimeAsync(4_999);
  expect(pool.size()).toBe(3);
  await jest.advanceTimersByTimeAsync(1);
  expect(pool.size()).toBe(4);
});

test('the last figure stays while the broker is away', async () => {
  const { state, admin } = aBroker(3);
  await using pool = startPoolSize(admin, 'evaluator.bulk');
  await pool.refresh();
  state.memberCount = undefined;
  await jest.advanceTimersByTimeAsync(10_000);
  expect([pool.size(), state.asked.length]).toEqual([3, 3]);
});

test('a group without members, as between two rebalances, never causes a division by zero', async () => {
  const { admin } = aBroker(0);
  await using pool = startPoolSize(admin, 'evaluator.bulk');
  await pool.refresh();
  expect(pool.size()).toBe(1);
});

test('the broker is not asked after disposal', async () => {
  const { state, admin } = aBroker(3);
  const pool = startPoolSize(admin, 'evaluator.bulk');
  await pool[Symbol.asyncDispose]();
  await jest.advanceTimersByTimeAsync(20_000);
  expect(state.asked).toEqual([]);
});
