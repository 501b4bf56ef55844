import { nextSweepAt } from './next-sweep-at.ts';

const EVERY_SECONDS = 3_600;
const NOW_MS = Date.parse('2026-11-22T10:00:00.000Z');

test('the next sweep is due within one interval, and again one interval later', () => {
  const first = nextSweepAt('app_1/members/1', EVERY_SECONDS, NOW_MS);
  expect(first).toBeGreaterThan(NOW_MS);
  expect(first).toBeLessThanOrEqual(NOW_MS + EVERY_SECONDS * 1_000);
  expect(nextSweepAt('app_1/members/1', EVERY_SECONDS, first)).toBe(first + EVERY_SECONDS * 1_000);
});

test('watches with one interval are swept at different times', () => {
  const times = Array.from({ length: 50 }, (_, i) => nextSweepAt(`app_${i}/w/1`, EVERY_SECONDS, NOW_MS));
  expect(new Set(times).size).toBeGreaterThan(45);
});
