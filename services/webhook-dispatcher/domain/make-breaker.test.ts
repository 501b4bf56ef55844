import { makeBreaker } from './make-breaker.ts';

const SECOND_MS = 1_000;

function failTimes(breaker: ReturnType<typeof makeBreaker>, count: number, nowMs: number) {
  for (let i = 0; i < count; i += 1) breaker.record('attempt', true, nowMs);
}

/** A breaker that opened at 0. */
function openBreaker() {
  const breaker = makeBreaker(1);
  failTimes(breaker, 10, 0);
  return breaker;
}

test('stays closed below ten attempts, and below 70 % failures', () => {
  const breaker = makeBreaker(1);
  failTimes(breaker, 9, 0);
  expect(breaker.state(0)).toBe('closed');
  const mixed = makeBreaker(1);
  for (let i = 0; i < 100; i += 1) mixed.record('attempt', i % 5 < 3, 0);
  expect(mixed.state(0)).toBe('closed');
});

test('opens at ten attempts of which 70 % failed within 60 s', () => {
  const breaker = makeBreaker(1);
  for (let i = 0; i < 3; i += 1) breaker.record('attempt', false, 0);
  failTimes(breaker, 7, 59 * SECOND_MS);
  expect(breaker.state(59 * SECOND_MS)).toBe('open');
  expect(breaker.admit(60 * SECOND_MS)).toBeUndefined();
});

test('forgets attempts that are older than the window', () => {
  const breaker = makeBreaker(1);
  failTimes(breaker, 9, 0);
  failTimes(breaker, 9, 60 * SECOND_MS);
  expect(breaker.state(60 * SECOND_MS)).toBe('closed');
});

test('after 30 s it admits one probe, whose success closes it', () => {
  const breaker = openBreaker();
  expect(breaker.admit(29_999)).toBeUndefined();
  expect(breaker.admit(30_000)).toBe('probe');
  expect(breaker.admit(30_000)).toBeUndefined();
  breaker.record('probe', false, 30_001);
  expect(breaker.admit(30_001)).toBe('attempt');
});

test('each failed probe doubles the open time, to ten minutes at the most; a success resets it', () => {
  const breaker = openBreaker();
  const openSeconds: number[] = [];
  let nowMs = 0;
  for (let probe = 0; probe < 6; probe += 1) {
    const openedAt = nowMs;
    while (breaker.admit(nowMs) === undefined) nowMs += SECOND_MS;
    openSeconds.push((nowMs - openedAt) / SECOND_MS);
    breaker.record('probe', true, nowMs);
  }
  expect(openSeconds).toEqual([30, 60, 120, 240, 480, 600]);
  while (breaker.admit(nowMs) === undefined) nowMs += SECOND_MS;
  breaker.record('probe', false, nowMs);
  failTimes(breaker, 10, nowMs);
  expect(breaker.admit(nowMs + 30 * SECOND_MS)).toBe('probe');
});

test('ignores attempts from before it opened', () => {
  const breaker = openBreaker();
  expect(breaker.admit(30_000)).toBe('probe');
  breaker.record('attempt', false, 30_001);
  expect(breaker.state(30_001)).toBe('half-open');
  breaker.record('probe', undefined, 30_002);
  expect(breaker.admit(30_003)).toBe('probe');
});
