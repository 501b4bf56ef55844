import { LearnedLimit } from './learned-limit.ts';

function aLimit(max: number) {
  const clock = { ms: 0 };
  return { clock, limit: new LearnedLimit(max, () => clock.ms) };
}

/** Asks for as much as the limit allows until a call is answered, and returns how many calls that
 * took. */
function ask(limit: LearnedLimit, allowed: number): number {
  for (let calls = 1; ; calls += 1) {
    const count = limit.current;
    if (count <= allowed) {
      limit.succeed(count);
      return calls;
    }
    limit.refuse(count);
  }
}

test('a limit is found by halving, and used from then on', () => {
  const { limit } = aLimit(1_000);
  expect(ask(limit, 10)).toBe(8);
  expect([limit.current, ask(limit, 10)]).toEqual([7, 1]);
});

test('one larger call a minute finds out that the limit has risen, and then each call asks for twice as much', () => {
  const { limit, clock } = aLimit(1_000);
  ask(limit, 10);
  clock.ms = 60_000;
  expect([ask(limit, 10), limit.current]).toEqual([2, 7]);
  clock.ms = 120_000;
  for (let calls = 0; calls < 8; calls += 1) expect(ask(limit, 1_000)).toBe(1);
  expect(limit.current).toBe(1_000);
});

test('a limit never falls below one, nor below what was answered since', () => {
  const { limit } = aLimit(100);
  limit.succeed(80);
  limit.refuse(100);
  expect(limit.current).toBe(80);
  for (let calls = 0; calls < 20; calls += 1) limit.refuse(limit.current);
  expect(limit.current).toBe(1);
});

test('a single refusal of a call that was answered before lowers no limit', () => {
  const { limit } = aLimit(100);
  for (let calls = 0; calls < 5; calls += 1) {
    limit.succeed(100);
    limit.refuse(100);
  }
  expect(limit.current).toBe(100);
  limit.refuse(100);
  expect(limit.current).toBe(50);
});

test('a limit whose refusals had another cause is forgotten', () => {
  const { limit } = aLimit(100);
  limit.refuse(100);
  limit.forget();
  expect(limit.current).toBe(100);
});
