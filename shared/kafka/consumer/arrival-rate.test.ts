import { ArrivalRate } from './arrival-rate.ts';

test('a steady stream has its rate, and a stream that stops loses it', () => {
  const rate = new ArrivalRate();
  expect(rate.perMs(0)).toBe(0);
  for (let atMs = 0; atMs <= 2_000; atMs += 5) rate.add(2, atMs);
  expect(rate.perMs(2_000)).toBeCloseTo(0.4, 1);
  expect(rate.perMs(3_000)).toBeLessThan(0.001);
});

test('a clock that is set back does not raise the rate', () => {
  const rate = new ArrivalRate();
  rate.add(10, 5_000);
  expect(rate.perMs(1_000)).toBe(rate.perMs(5_000));
});
