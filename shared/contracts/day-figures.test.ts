import { BUCKET_ENDS_MS, bucketOf, countCheck } from './day-figures.ts';

const aMessage = (result: unknown, acceptedAt = '2026-11-21T23:59:59.990Z') => ({
  requestId: 'r1',
  acceptedAt,
  delivery: { mode: 'poll' as const },
  resultJson: JSON.stringify(result),
});

test('a check counts on the day of its acceptance, by mode, status and duration', () => {
  const counted = countCheck(
    aMessage({
      status: 'completed',
      roles: [
        { id: 'a', granted: true },
        { id: '"granted":true', granted: false },
      ],
      errors: [{ code: 'internal' }],
      evaluatedAt: '2026-11-22T00:00:00.000Z',
    }),
  );
  expect(counted).toEqual({
    date: '2026-11-21',
    figures: { 'poll.completed.5': 1, granted: 1, denied: 1, undetermined: 1 },
    logged: {
      requestId: 'r1',
      mode: 'poll',
      status: 'completed',
      acceptedAtMs: Date.parse('2026-11-21T23:59:59.990Z'),
      durationMs: 10,
      granted: 1,
      denied: 1,
      undetermined: 1,
      codes: ['internal'],
    },
  });
});

test('what is not a result of this version counts for nothing', () => {
  expect(countCheck(aMessage({ n: 1 }))).toBeUndefined();
});

test('a duration falls into the first bucket that ends at it or later', () => {
  expect(bucketOf(-3)).toBe(0);
  expect(bucketOf(1)).toBe(0);
  expect(bucketOf(1.5)).toBe(1);
  expect(bucketOf(Number.MAX_SAFE_INTEGER)).toBe(BUCKET_ENDS_MS.length);
});
