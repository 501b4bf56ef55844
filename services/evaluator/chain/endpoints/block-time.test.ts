import { BlockTime } from './block-time.ts';

test('a configured block time is not measured', () => {
  const time = new BlockTime(2_000);
  for (let second = 0; second <= 60; second += 1) time.note(second * 4, second * 1_000);
  expect([time.ms, time.blocksIn(10_000)]).toEqual([2_000, 5]);
});

test.each([250, 1_000, 12_000])('a block time of %i ms is measured from the heads that arrive', (blockMs) => {
  const time = new BlockTime(undefined);
  for (let second = 0; second <= 90; second += 1)
    time.note(Math.floor((second * 1_000) / blockMs), second * 1_000);
  expect(time.ms / blockMs).toBeGreaterThan(0.8);
  expect(time.ms / blockMs).toBeLessThan(1.3);
});

test('until it is measured, a block time counts as 12 s', () => {
  const time = new BlockTime(undefined);
  time.note(1, 0);
  time.note(30, 9_000);
  expect(time.ms).toBe(12_000);
});

test('a chain that starts over is measured anew', () => {
  const time = new BlockTime(undefined);
  time.note(1_000, 0);
  time.note(5, 20_000);
  time.note(25, 40_000);
  expect(time.ms).toBe(1_000);
});
