import { planEnd } from './deadline.ts';

const at = (ms: number): string => new Date(ms).toISOString();

test.each([
  ['1 s before a deadline of 10 s', { acceptedAt: at(1_000), deadlineAt: at(11_000) }, 10_000],
  ['1 s before a deadline of 5 s', { acceptedAt: at(0), deadlineAt: at(5_000) }, 4_000],
  ['a fifth before a shorter one', { acceptedAt: at(0), deadlineAt: at(2_000) }, 1_600],
  ['at a deadline that was over before it began', { acceptedAt: at(2_000), deadlineAt: at(1_000) }, 1_000],
])('a sync check ends %s, whenever it was taken up', (_, span, expected) => {
  expect(planEnd(span, 900, 30_000)).toBe(expected);
});

test('an asynchronous check has its time from the start of its evaluation, however long it was queued', () => {
  expect(planEnd({ acceptedAt: at(0) }, 86_400_000, 30_000)).toBe(86_430_000);
});
