import { planEnd } from './deadline.ts';

test.each([
  ['1 s before a deadline of 10 s', { acceptedAtMs: 1_000, deadlineAtMs: 11_000 }, 10_000],
  ['1 s before a deadline of 5 s', { acceptedAtMs: 0, deadlineAtMs: 5_000 }, 4_000],
  ['a fifth before a shorter one', { acceptedAtMs: 0, deadlineAtMs: 2_000 }, 1_600],
  ['at a deadline that was over before it began', { acceptedAtMs: 2_000, deadlineAtMs: 1_000 }, 1_000],
])('a sync check ends %s, whenever it was taken up', (_, span, expected) => {
  expect(planEnd(span, 900, 30_000)).toBe(expected);
});

test('an asynchronous check has its time from the start of its evaluation, however long it was queued', () => {
  expect(planEnd({ acceptedAtMs: 0 }, 86_400_000, 30_000)).toBe(86_430_000);
});
