import { startRepeating } from './repeat.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('waits an interval before the first run, and between the end of a run and the next', async () => {
  const held = Promise.withResolvers<void>();
  let runCount = 0;
  await using _ = startRepeating(
    () => {
      runCount++;
      return runCount === 1 ? held.promise : undefined;
    },
    { intervalMs: 1_000 },
  );
  await jest.advanceTimersByTimeAsync(999);
  expect(runCount).toBe(0);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(runCount).toBe(1);
  held.resolve();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(runCount).toBe(2);
});

test('starts at once if asked to, and continues after a failure', async () => {
  const errors: unknown[] = [];
  const failure = new Error('away');
  await using _ = startRepeating(() => Promise.reject(failure), {
    intervalMs: 1_000,
    startsAtOnce: true,
    onError: (error) => errors.push(error),
  });
  await jest.advanceTimersByTimeAsync(1_000);
  expect(errors).toEqual([failure, failure]);
});

test('runs no more after disposal, not even when a run in progress ends', async () => {
  const held = Promise.withResolvers<void>();
  let runCount = 0;
  const repetition = startRepeating(
    () => {
      runCount++;
      return held.promise;
    },
    { intervalMs: 1_000, startsAtOnce: true },
  );
  await repetition[Symbol.asyncDispose]();
  held.resolve();
  await jest.advanceTimersByTimeAsync(10_000);
  expect([runCount, jest.getTimerCount()]).toEqual([1, 0]);
});
