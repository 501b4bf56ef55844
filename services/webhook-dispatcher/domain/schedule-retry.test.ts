import fc from 'fast-check';
import { ATTEMPTS_MAX, isGivenUp, parseRetryAfter, planDeferral, planRetry } from './schedule-retry.ts';

const HOUR_MS = 3_600_000;
const clock = (over: Partial<Parameters<typeof planDeferral>[2]> = {}) => ({
  nowMs: 0,
  startedAtMs: 0,
  jitter: 0,
  scale: 1,
  ...over,
});
const SCHEDULE_MS = [5_000, 300_000, 1_800_000, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS, 10 * HOUR_MS];
const SCHEDULE_TIERS = ['5s', '5m', '30m', '2h', '5h', '10h', '10h'];

test('retries after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h, and then no more', () => {
  const retries = Array.from({ length: ATTEMPTS_MAX }, (_, i) => planRetry(i + 1, undefined, clock()));
  expect(retries.map((retry) => retry?.dueAtMs)).toEqual([...SCHEDULE_MS, undefined]);
  expect(retries.map((retry) => retry?.tier)).toEqual([...SCHEDULE_TIERS, undefined]);
});

test('plans an attempt never early and at most a fifth late', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 7, maxLength: 7 }),
      fc.integer({ min: 0, max: 2 ** 40 }),
      (jitters, startedAtMs) => {
        let nowMs = startedAtMs;
        for (const [i, jitter] of jitters.entries()) {
          const retry = planRetry(i + 1, undefined, clock({ nowMs, startedAtMs, jitter }));
          const delayMs = (retry?.dueAtMs ?? 0) - nowMs;
          expect(delayMs).toBeGreaterThanOrEqual(SCHEDULE_MS[i] ?? 0);
          expect(delayMs).toBeLessThanOrEqual(1.2 * (SCHEDULE_MS[i] ?? 0) + 1);
          nowMs = retry?.dueAtMs ?? 0;
        }
      },
    ),
  );
});

test.each([
  [1, 0, '5s'],
  [1, 5_000, '5s'],
  [1, 5_001, '5m'],
  [1, 3_600_000, '2h'],
  [3, 60_000, '30m'],
  [1, 10 * HOUR_MS, '10h'],
  [1, 20 * HOUR_MS, '10h'],
])(
  'picks the smallest tier that covers attempt %i and a Retry-After of %i ms: %s',
  (attempt, retryAfterMs, tier) => {
    expect(planRetry(attempt, retryAfterMs, clock())?.tier).toBe(tier);
  },
);

test('plans no ninth attempt for a Retry-After', () => {
  expect(planRetry(8, 1_000, clock())).toBeUndefined();
});

test('scales the tiers and not the Retry-After, and picks the longest tier if none covers it', () => {
  expect(planRetry(1, undefined, clock({ scale: 0.001 }))).toEqual({ tier: '5s', dueAtMs: 5 });
  expect(planRetry(1, 1_000, clock({ scale: 0.001 }))?.tier).toBe('30m');
  expect(planRetry(1, 60_000, clock({ scale: 0.001 }))?.tier).toBe('10h');
});

test('gives a delivery up 40 h after its first attempt, and plans no attempt beyond', () => {
  expect(isGivenUp(clock({ nowMs: 40 * HOUR_MS }))).toBe(false);
  expect(isGivenUp(clock({ nowMs: 40 * HOUR_MS + 1 }))).toBe(true);
  expect(planRetry(6, undefined, clock({ nowMs: 31 * HOUR_MS }))).toBeUndefined();
  expect(planDeferral('breaker', 1, clock({ nowMs: 40 * HOUR_MS }))).toBeUndefined();
});

test('defers to the 5 s tier first, and to the 5 min tier again for every reason except slots', () => {
  expect(planDeferral('slots', 3, clock())?.tier).toBe('5s');
  expect([0, 5, 6].map((count) => planDeferral('hanging', count, clock())?.tier)).toEqual(['5s', '5s', '5m']);
  expect(planDeferral('breaker', 0, clock())?.tier).toBe('5s');
  expect(planDeferral('breaker', 1, clock())?.tier).toBe('5m');
});

test.each([
  ['120', 120_000],
  [' 0 ', 0],
  ['99999999999999999999', 24 * HOUR_MS],
  ['Fri, 01 Jan 2021 00:00:30 GMT', 30_000],
  ['Thu, 31 Dec 2020 23:00:00 GMT', 0],
  ['-5', undefined],
  ['1.5', undefined],
  ['2021-01-01T00:00:30Z', undefined],
  ['soon', undefined],
  ['', undefined],
  ['9'.repeat(100), undefined],
  [undefined, undefined],
])('reads the Retry-After %j as %s ms', (text, delayMs) => {
  expect(parseRetryAfter(text, Date.parse('2021-01-01T00:00:00Z'))).toBe(delayMs);
});
