import { makeLogThrottle } from './log-throttle.ts';

test('lets one line per interval through, and counts the suppressed ones with the next', () => {
  let time = 0;
  const suppressedCount = makeLogThrottle(1_000, () => time);
  expect([suppressedCount(), suppressedCount(), suppressedCount()]).toEqual([0, undefined, undefined]);
  time = 1_000;
  expect([suppressedCount(), suppressedCount()]).toEqual([2, undefined]);
});
