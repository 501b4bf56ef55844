import { makeGather } from './gather.ts';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('all who come before the first one is due end together, and the next begin anew', async () => {
  const gather = makeGather(10);
  const ended: string[] = [];
  void gather().then(() => ended.push('first'));
  await jest.advanceTimersByTimeAsync(9);
  void gather().then(() => ended.push('second'));
  expect(ended).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(['first', 'second']);
  void gather().then(() => ended.push('third'));
  await jest.advanceTimersByTimeAsync(9);
  expect(ended).toHaveLength(2);
  await jest.advanceTimersByTimeAsync(1);
  expect(ended).toHaveLength(3);
});
