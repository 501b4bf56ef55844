import { Breaker } from './breaker.ts';

const SETTINGS = { strikesMax: 3, openMsMin: 100, openMsMax: 400 };

function makeClocked() {
  const clock = { ms: 0 };
  return { clock, breaker: new Breaker(() => clock.ms, SETTINGS) };
}

test('it opens when the strikes reach the threshold, and a success resets them', () => {
  const { breaker } = makeClocked();
  breaker.fail('call', 2);
  breaker.succeed('call');
  breaker.fail('call', 2);
  expect(breaker.state).toBe('closed');
  breaker.fail('call', 1);
  expect(breaker.state).toBe('open');
  expect(breaker.admit()).toBe(false);
});

test('after its time one call is let through, and a success closes it', () => {
  const { breaker, clock } = makeClocked();
  breaker.fail('call', 3);
  clock.ms = 100;
  expect(breaker.state).toBe('half-open');
  expect([breaker.admit(), breaker.admit()]).toEqual([true, false]);
  breaker.succeed('call');
  expect(breaker.state).toBe('closed');
});

test('each failed attempt doubles its time, up to the bound', () => {
  const { breaker, clock } = makeClocked();
  breaker.fail('call', 3);
  const openMs: number[] = [];
  for (let attempt = 0; attempt < 4; attempt++) {
    const from = clock.ms;
    while (breaker.state === 'open') clock.ms += 1;
    openMs.push(clock.ms - from);
    breaker.admit();
    breaker.fail('call', 1);
  }
  expect(openMs).toEqual([100, 200, 400, 400]);
});

test('after a half-open call that neither succeeded nor counts as a failure, the next call may try', () => {
  const { breaker, clock } = makeClocked();
  breaker.fail('call', 3);
  clock.ms = 100;
  breaker.admit();
  breaker.fail('call', 0);
  expect(breaker.admit()).toBe(true);
});

test('the success of one kind of call neither resets the strikes of another nor closes what they opened', () => {
  const { breaker, clock } = makeClocked();
  breaker.fail('call', 2);
  breaker.succeed('head');
  breaker.fail('call', 1);
  expect(breaker.state).toBe('open');
  clock.ms = 100;
  expect(breaker.admit()).toBe(true);
  breaker.succeed('head');
  expect([breaker.state, breaker.admit()]).toEqual(['half-open', true]);
  breaker.succeed('call');
  expect(breaker.state).toBe('closed');
});
