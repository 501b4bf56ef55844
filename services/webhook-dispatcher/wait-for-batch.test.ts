import { makeWaitForBatch } from './wait-for-batch.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('ends the wait of all callers of a batch together, and begins a new batch with the next caller', async () => {
  const waitForBatch = makeWaitForBatch(10);
  const ended: string[] = [];
  void waitForBatch().then(() => ended.push('first'));
  await jest.advanceTimersByTimeAsync(9);
  void waitForBatch().then(() => ended.push('second'));
  expect(ended).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(['first', 'second']);
  void waitForBatch().then(() => ended.push('third'));
  await jest.advanceTimersByTimeAsync(9);
  expect(ended).toHaveLength(2);
  await jest.advanceTimersByTimeAsync(1);
  expect(ended).toHaveLength(3);
});
