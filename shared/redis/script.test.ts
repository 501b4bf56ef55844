import { COMMAND_TIMEOUT_MS, type Redis } from './connect.ts';
import { makeScript, REQUIRE_VIEW, withLock } from './script.ts';

const LUA = `return redis.call('INCRBY', KEYS[1], ARGV[1])`;

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A Redis that answers each command by its name. */
const fakeRedis = (answers: Record<string, (...args: unknown[]) => Promise<number>>): Redis =>
  answers as unknown as Redis;

it('fails a call that is still waiting to be sent when its time is up', async () => {
  const script = makeScript<number>(fakeRedis({ evalsha: () => new Promise(() => undefined) }), LUA);
  const call = expect(script(['counter'], [1])).rejects.toMatchObject({ code: 'store-unavailable' });
  await jest.advanceTimersByTimeAsync(COMMAND_TIMEOUT_MS);
  await call;
});

it('leaves no timer behind an answer', async () => {
  const script = makeScript<number>(fakeRedis({ evalsha: async () => 2 }), LUA);
  expect(await script(['counter'], [1])).toBe(2);
  expect(jest.getTimerCount()).toBe(0);
});

it('sends the whole script where Redis does not know it', async () => {
  const evalsha = jest.fn().mockRejectedValue(new Error('NOSCRIPT No matching script.'));
  const whole = jest.fn().mockResolvedValue(2);
  const script = makeScript<number>(fakeRedis({ evalsha, eval: whole }), LUA);
  expect(await script(['counter'], [1])).toBe(2);
  expect(whole).toHaveBeenCalledWith(LUA, 1, 'counter', 1);
});

it('does not run a script again that failed', async () => {
  const whole = jest.fn();
  const evalsha = jest.fn().mockRejectedValue(new Error('ERR wrong type'));
  const script = makeScript<number>(fakeRedis({ evalsha, eval: whole }), LUA);
  await expect(script(['counter'], [1])).rejects.toMatchObject({ code: 'store-unavailable' });
  expect(whole).not.toHaveBeenCalled();
});

it('has a script of a view check the marker, and on the connection of a replay the lock', async () => {
  const sent: unknown[][] = [];
  const redis = {
    options: {},
    evalsha: () => Promise.reject(new Error('NOSCRIPT No matching script.')),
    eval: async (...args: unknown[]) => void sent.push(args),
  } as unknown as Redis;
  await makeScript(redis, `${REQUIRE_VIEW}${LUA}`)(['counter'], [1]);
  await makeScript(withLock(redis, 'token'), `${REQUIRE_VIEW}${LUA}`)(['counter'], [1]);
  const [[live, ...liveArgs] = [], [locked, ...lockedArgs] = []] = sent;
  expect(live).toContain("redis.call('EXISTS', ofSystem('view:generation:1'))");
  expect(liveArgs).toEqual([1, 'counter', 1]);
  expect(locked).toContain("redis.call('GET', ofSystem('view:rebuild-lock')) ~= table.remove(ARGV)");
  expect(lockedArgs).toEqual([1, 'counter', 1, 'token']);
});
