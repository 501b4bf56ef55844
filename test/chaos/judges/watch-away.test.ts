import type { Attempt } from '../../support/judges/ledger.ts';
import { backAfter, judgeAway } from './watch-away.ts';

const AWAY = { fromMs: 10_000, toMs: 20_000 };
const attempt = (startedAt: number, status: number | undefined, more: Partial<Attempt> = {}): Attempt => ({
  ...{
    mode: 'poll',
    account: '0x00',
    rules: [],
    signsIn: false,
    outcome: 'indeterminate',
    startedAt,
    tookMs: 100,
  },
  ...(status === undefined ? {} : { status }),
  ...more,
});

test('503 with Retry-After keeps the promise while a dependency is away', () => {
  expect(judgeAway([attempt(12_000, 503, { retryAfter: '1' })], AWAY)).toEqual([]);
});

test('an acceptance within the outage breaks the promise, and an acceptance across its edge does not', () => {
  expect(judgeAway([attempt(12_000, 202)], AWAY)).toEqual(['1 accepted meanwhile']);
  const straddling = [attempt(9_990, 202), attempt(19_950, 202), attempt(12_000, undefined)];
  expect(judgeAway([...straddling, attempt(12_000, 503, { retryAfter: '1' })], AWAY)).toEqual([]);
});

test('a 503 without Retry-After breaks the promise, and so does any other answer', () => {
  expect(judgeAway([attempt(12_000, 503), attempt(12_000, 500)], AWAY)).toEqual([
    '1 answered 500',
    '1 × 503 without Retry-After',
  ]);
});

test('an outage without a request proves nothing', () => {
  expect(judgeAway([], AWAY)).toEqual(['no request was sent meanwhile']);
});

test('the outage ends with the first later acceptance', () => {
  expect(backAfter([attempt(9_000, 202), attempt(20_400, 503), attempt(20_900, 202)], 20_000)).toBe(1_000);
  expect(backAfter([], 20_000)).toBe(Number.POSITIVE_INFINITY);
});
