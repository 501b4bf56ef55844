import { makeFetchPause } from './fetch-pause.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('a consumer with little to do fetches at once', () => {
  const pause = makeFetchPause();
  pause.onFetch();
  expect(pause.rest(1)).toBeUndefined();
  expect(jest.getTimerCount()).toBe(0);
});

test('a busy one waits once between two fetches, however many partitions the first one brought', async () => {
  const pause = makeFetchPause();
  pause.onFetch();
  const rest = pause.rest(1_000);
  expect(rest).toBeInstanceOf(Promise);
  expect(pause.rest(1_000)).toBeUndefined();
  await jest.runAllTimersAsync();
  await rest;
  pause.onFetch();
  expect(pause.rest(1_000)).toBeInstanceOf(Promise);
});
