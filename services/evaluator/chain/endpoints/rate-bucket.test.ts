import { RateBucket } from './rate-bucket.ts';

test('in any span it gives out at most a burst of one second and the rate', () => {
  const clock = { ms: 0 };
  const bucket = new RateBucket(
    () => 10,
    () => clock.ms,
  );
  const taken: number[] = [];
  for (; clock.ms < 5_000; clock.ms += 7) if (bucket.take() === 0) taken.push(clock.ms);
  expect(taken.length).toBeLessThanOrEqual(10 + 50);
  expect(taken.length).toBeGreaterThanOrEqual(55);
  for (const from of taken)
    expect(taken.filter((at) => at >= from && at < from + 1_000).length).toBeLessThanOrEqual(20);
});

test('it says how long to wait for the next call', () => {
  const clock = { ms: 0 };
  const bucket = new RateBucket(
    () => 2,
    () => clock.ms,
  );
  expect([bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 500]);
  clock.ms = 500;
  expect(bucket.take()).toBe(0);
});

test('its share follows the size of the pool', () => {
  const clock = { ms: 0 };
  let share = 10;
  const bucket = new RateBucket(
    () => share,
    () => clock.ms,
  );
  while (bucket.take() === 0);
  share = 1;
  clock.ms += 1_000;
  expect([bucket.take(), bucket.take()]).toEqual([0, 1_000]);
});

test('a busy endpoint pushes the rate down, and it recovers slowly', () => {
  const clock = { ms: 0 };
  const bucket = new RateBucket(
    () => 10,
    () => clock.ms,
  );
  for (let busy = 0; busy < 20; busy++) bucket.backOff();
  while (bucket.take() === 0);
  clock.ms += 1_000;
  expect(bucket.take()).toBe(0);
  expect(bucket.take()).toBeGreaterThan(0);
  clock.ms += 60_000;
  let count = 0;
  while (bucket.take() === 0) count += 1;
  expect(count).toBe(10);
});
