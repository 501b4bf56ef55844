import fc from 'fast-check';
import { LogLimit } from './log-limit.ts';

/** Asks an endpoint that allows `allowed` for as much as the limit says, `callCount` times. */
function askOften(limit: LogLimit, allowed: number, callCount: number): { refusals: number } {
  let refusals = 0;
  for (let call = 0; call < callCount; call += 1) {
    const count = limit.current;
    if (count <= allowed) limit.succeed(count);
    else {
      refusals += 1;
      limit.shrink(count);
    }
  }
  return { refusals };
}

test('a limit is found by a logarithmic number of refusals', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), (allowed) => {
      const limit = new LogLimit(1_000, 5_000);
      const { refusals } = askOften(limit, allowed, 14);
      expect(limit.current).toBeLessThanOrEqual(Math.max(1_000, allowed));
      expect(limit.current).toBeGreaterThanOrEqual(Math.min(500, Math.ceil(allowed / 2)));
      expect(refusals).toBeLessThanOrEqual(11);
    }),
  );
});

test('a known limit costs at most one refusal in eight calls', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4_000 }), (allowed) => {
      const limit = new LogLimit(1_000, 5_000);
      askOften(limit, allowed, 400);
      const { refusals } = askOften(limit, allowed, 90);
      expect(refusals).toBeLessThanOrEqual(10);
      expect(limit.current).toBeGreaterThanOrEqual(Math.ceil(allowed / 2));
    }),
  );
});

test('a limit that an endpoint raises is found again', () => {
  const limit = new LogLimit(1_000, 5_000);
  askOften(limit, 10, 20);
  askOften(limit, 10_000, 1_000);
  expect(limit.current).toBe(5_000);
});

test('a call that uses the limit in part does not raise it', () => {
  const limit = new LogLimit(100, 5_000);
  for (let call = 0; call < 100; call += 1) limit.succeed(99);
  expect(limit.current).toBe(100);
});

test('a limit is never below one', () => {
  const limit = new LogLimit(4, 100);
  for (let call = 0; call < 10; call += 1) limit.shrink(limit.current);
  expect(limit.current).toBe(1);
});
