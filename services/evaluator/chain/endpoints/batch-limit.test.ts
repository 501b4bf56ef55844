import { BatchLimit } from './batch-limit.ts';

test('it grows by steps with full calls only, and never beyond the maximum', () => {
  const limit = new BatchLimit(600);
  limit.succeed(499);
  expect(limit.current).toBe(500);
  limit.succeed(500);
  limit.succeed(550);
  limit.succeed(600);
  expect(limit.current).toBe(600);
});

test('it halves with a call that was too much, and never below one', () => {
  const limit = new BatchLimit(10);
  const seen = [10, 5, 3, 1, 1].map((count) => {
    limit.shrink(count);
    return limit.current;
  });
  expect(seen).toEqual([5, 2, 1, 1, 1]);
});
