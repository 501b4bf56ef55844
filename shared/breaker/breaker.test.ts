import { Breaker, type Judge } from './breaker.ts';
import { shareOfWindow } from './share-of-window.ts';
import { strikesInARow } from './strikes.ts';

const TIMES = { openMsMin: 100, openMsMax: 400 };

type Outcome = boolean | undefined;

/** A judge that opens at a failure. */
const atOnce: Judge<Outcome> = {
  opens: (failed) => failed === true,
  probed: (failed) => (failed === undefined ? undefined : failed ? 'failing' : 'recovered'),
};

function makeClocked<O = Outcome>(judgeOf: (nowMs: () => number) => Judge<O>) {
  const clock = { ms: 0 };
  const nowMs = () => clock.ms;
  return { clock, breaker: new Breaker(judgeOf(nowMs), TIMES, nowMs) };
}

const makeSimple = () => makeClocked(() => atOnce);

const waitUntilAdmitted = ({ clock, breaker }: ReturnType<typeof makeSimple>): number => {
  const from = clock.ms;
  while (breaker.admit() === undefined) clock.ms += 1;
  return clock.ms - from;
};

test('admits no call while it is open, then one probe, whose success closes it', () => {
  const { clock, breaker } = makeSimple();
  expect(breaker.admit()).toBe('call');
  breaker.record(true);
  expect([breaker.state, breaker.admit()]).toEqual(['open', undefined]);
  clock.ms = 100;
  expect([breaker.state, breaker.isAdmitting]).toEqual(['half-open', true]);
  expect([breaker.admit(), breaker.admit(), breaker.isAdmitting]).toEqual(['probe', undefined, false]);
  breaker.record(false, 'probe');
  expect([breaker.state, breaker.admit()]).toEqual(['closed', 'call']);
});

test('each failed probe doubles its time, up to the bound, and a success resets it', () => {
  const clocked = makeSimple();
  clocked.breaker.record(true);
  const openMs: number[] = [];
  for (let probe = 0; probe < 4; probe += 1) {
    openMs.push(waitUntilAdmitted(clocked));
    clocked.breaker.record(probe < 3, 'probe');
  }
  expect(openMs).toEqual([100, 200, 400, 400]);
  clocked.breaker.record(true);
  expect(waitUntilAdmitted(clocked)).toBe(100);
});

test('after a probe that says nothing, another one may go out', () => {
  const clocked = makeSimple();
  clocked.breaker.record(true);
  waitUntilAdmitted(clocked);
  clocked.breaker.record(undefined, 'probe');
  expect(clocked.breaker.admit()).toBe('probe');
});

test('an outcome from before it opened neither closes it nor lengthens its time', () => {
  const { clock, breaker } = makeSimple();
  breaker.record(true);
  breaker.record(false, 'call');
  clock.ms = 99;
  breaker.record(true, 'call');
  expect(breaker.state).toBe('open');
  clock.ms = 100;
  expect(breaker.admit()).toBe('probe');
  breaker.record(false, 'call');
  expect(breaker.state).toBe('half-open');
});

describe('strikes in a row', () => {
  const makeStruck = () => makeClocked(() => strikesInARow<'head' | 'call'>(3));

  test('open it at the maximum, and a success begins the count again', () => {
    const { breaker } = makeStruck();
    breaker.record({ kind: 'call', strikes: 2 });
    breaker.record({ kind: 'call' });
    breaker.record({ kind: 'call', strikes: 2 });
    breaker.record({ kind: 'call', strikes: 0 });
    expect(breaker.state).toBe('closed');
    breaker.record({ kind: 'call', strikes: 1 });
    expect(breaker.state).toBe('open');
  });

  test('of one kind are neither reset nor ended by the success of another kind', () => {
    const { clock, breaker } = makeStruck();
    breaker.record({ kind: 'call', strikes: 2 });
    breaker.record({ kind: 'head' });
    breaker.record({ kind: 'call', strikes: 1 });
    clock.ms = 100;
    expect(breaker.admit()).toBe('probe');
    breaker.record({ kind: 'head' }, 'probe');
    expect([breaker.state, breaker.admit()]).toEqual(['half-open', 'probe']);
    breaker.record({ kind: 'call' }, 'probe');
    expect(breaker.state).toBe('closed');
  });
});

describe('a share of a window', () => {
  const makeShared = () => makeClocked((nowMs) => shareOfWindow(60_000, nowMs));
  const fail = ({ breaker }: ReturnType<typeof makeShared>, count: number) => {
    for (let i = 0; i < count; i += 1) breaker.record(true);
  };

  test('leaves it closed below ten outcomes, and below 70 % failures', () => {
    const few = makeShared();
    fail(few, 9);
    const mixed = makeShared();
    for (let i = 0; i < 100; i += 1) mixed.breaker.record(i % 5 < 3);
    expect([few.breaker.state, mixed.breaker.state]).toEqual(['closed', 'closed']);
  });

  test('opens it at ten outcomes of which 70 % are failures', () => {
    const clocked = makeShared();
    for (let i = 0; i < 3; i += 1) clocked.breaker.record(false);
    clocked.clock.ms = 59_000;
    fail(clocked, 7);
    expect(clocked.breaker.state).toBe('open');
  });

  test('forgets outcomes that are older than the window, and those from before a probe', () => {
    const clocked = makeShared();
    fail(clocked, 9);
    clocked.clock.ms = 60_000;
    fail(clocked, 9);
    expect(clocked.breaker.state).toBe('closed');
    fail(clocked, 1);
    waitUntilAdmitted(clocked);
    clocked.breaker.record(false, 'probe');
    fail(clocked, 9);
    expect(clocked.breaker.state).toBe('closed');
  });
});
