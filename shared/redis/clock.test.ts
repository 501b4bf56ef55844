import { startClock } from './clock.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A Redis whose clock is a second behind; its answers take the given times before and after it
 * reads the clock, ms. */
function redisBehind(delays: readonly (readonly [number, number])[]) {
  let count = 0;
  return {
    async time(): Promise<number[]> {
      const [before, after] = delays[count++ % delays.length] ?? [0, 0];
      jest.advanceTimersByTime(before);
      const ms = Date.now() - 1_000;
      jest.advanceTimersByTime(after);
      return [Math.floor(ms / 1_000), (ms % 1_000) * 1_000];
    },
  };
}

test('the difference to Redis is taken from the fastest of five answers', async () => {
  const slow = [0, 400] as const;
  await using clock = await startClock(redisBehind([slow, slow, [2, 2], slow, slow]));
  expect(clock.skewMs()).toBe(1_000);
  expect(clock.now()).toBe(Date.now() - 1_000);
});

test('the last known difference stays while Redis is away', async () => {
  const redis = redisBehind([[1, 1]]);
  await using clock = await startClock(redis);
  redis.time = () => Promise.reject(new Error('away'));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(clock.skewMs()).toBe(1_000);
});

test("a step of the machine's clock moves no time", async () => {
  await using clock = await startClock(redisBehind([[1, 1]]));
  const before = clock.now();
  jest.setSystemTime(Date.now() + 600_000);
  expect(clock.now()).toBe(before);
  jest.setSystemTime(Date.now() - 1_200_000);
  await jest.advanceTimersByTimeAsync(3_000);
  expect(clock.now()).toBe(before + 3_000);
});
