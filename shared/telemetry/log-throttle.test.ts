import { makeLogThrottle, makeThrottledWarning } from './log-throttle.ts';

test('lets one line per interval through, and counts the suppressed ones with the next', () => {
  let time = 0;
  const suppressedCount = makeLogThrottle(1_000, () => time);
  expect([suppressedCount(), suppressedCount(), suppressedCount()]).toEqual([0, undefined, undefined]);
  time = 1_000;
  expect([suppressedCount(), suppressedCount()]).toEqual([2, undefined]);
});

test('a failure that repeats is logged once per interval', () => {
  const warn = jest.fn();
  const onError = makeThrottledWarning({ warn }, 'sweeps not continued', 60_000);
  for (let i = 0; i < 3; i++) onError(new Error('away'));
  expect(warn.mock.calls).toEqual([
    [{ error: { code: 'handler-failed', message: 'Error: away' }, others: 0 }, 'sweeps not continued'],
  ]);
});
