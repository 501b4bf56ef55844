import fc from 'fast-check';
import { CallLag, NOT_YET_MS } from './call-lag.ts';

/** Calls at one block after another, and returns how many came too early. */
function call(lag: CallLag, blocks: number, readyAfterMs: () => number): number {
  let earlyCount = 0;
  for (let block = 0; block < blocks; block += 1) {
    const readyMs = readyAfterMs();
    let ageMs = lag.ms;
    for (; ageMs < readyMs; ageMs = Math.max(ageMs + 100, lag.ms)) {
      lag.late(ageMs);
      earlyCount += 1;
    }
    lag.ready(ageMs, String(block));
  }
  return earlyCount;
}

test.each([150, 600, 2_000])('calls at an endpoint that is %i ms late seldom come too early', (lateMs) => {
  const lag = new CallLag();
  call(lag, 10, () => lateMs);
  expect(call(lag, 200, () => lateMs)).toBeLessThan(40);
});

test('calls at nodes that are late by different times seldom come too early', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2_000 }), { minLength: 300, maxLength: 300 }), (lates) => {
      const lag = new CallLag();
      const next = lates.values();
      const ofNext = () => next.next().value ?? 0;
      call(lag, 50, ofNext);
      expect(call(lag, 200, ofNext)).toBeLessThan(60);
    }),
    { numRuns: 50 },
  );
});

test('an endpoint that is late no more is waited for no more', () => {
  const lag = new CallLag();
  call(lag, 3, () => 500);
  call(lag, 400, () => 0);
  expect(lag.ms).toBe(0);
});

test('an endpoint that was late once is waited for at few blocks', () => {
  const lag = new CallLag();
  lag.late(3_000);
  call(lag, 25, () => 0);
  expect(lag.ms).toBe(0);
});

test('however many calls at one block are answered, the next block is waited for as long', () => {
  const lag = new CallLag();
  lag.late(1_000);
  lag.ready(1_300, 'one');
  const { ms } = lag;
  for (let calls = 0; calls < 50; calls += 1) lag.ready(1_300, 'one');
  expect(lag.ms).toBe(ms);
  lag.ready(1_300, 'two');
  expect(lag.ms).toBeLessThan(ms);
});

test('the wait is bounded by the time after which a block must be there', () => {
  const lag = new CallLag();
  for (let calls = 0; calls < 50; calls += 1) lag.late(60_000);
  expect(lag.ms).toBe(NOT_YET_MS);
});
