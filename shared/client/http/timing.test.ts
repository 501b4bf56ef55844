import { abortable, jittered, sleep } from './timing.ts';

/** A day; a timer of a runtime that is given too long a time fires after 1 ms. */
const DAY_MS = 86_400_000;

describe.each([Number.POSITIVE_INFINITY, 2 ** 31, 10 * 365 * DAY_MS])('a time of %d ms', (ms) => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('does not end a call at once if it is the limit of the call', () => {
    const { signal, isTimedOut, end } = abortable(undefined, ms);
    jest.advanceTimersByTime(DAY_MS);
    expect([signal.aborted, isTimedOut()]).toEqual([false, false]);
    end();
  });

  test('before a retry does not pass at once', async () => {
    const gone = new AbortController();
    let isOver = false;
    const slept = sleep(ms, gone.signal).then(
      () => {
        isOver = true;
      },
      () => undefined,
    );
    await jest.advanceTimersByTimeAsync(DAY_MS);
    expect(isOver).toBe(false);
    gone.abort();
    await slept;
  });
});

test('the limit of a call ends it', () => {
  jest.useFakeTimers();
  const { isTimedOut } = abortable(undefined, 1_000);
  jest.advanceTimersByTime(999);
  expect(isTimedOut()).toBe(false);
  jest.advanceTimersByTime(1);
  expect(isTimedOut()).toBe(true);
  jest.useRealTimers();
});

test.each([
  [1_000, 0, 1_000],
  [1_000, 1, 1_500],
  [3_600_000, 1, 3_605_000],
])('a wait of at least %d ms with the random number %d is %d ms', (leastMs, random, ms) => {
  expect(jittered(leastMs, random)).toBe(ms);
});
