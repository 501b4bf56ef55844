import { setImmediate as nextTick } from 'node:timers/promises';
import { FairTicks } from './fair-ticks.ts';

/** Work that takes a millisecond each, or as long as it says. */
function working() {
  let nowMs = 0;
  const ticks = new FairTicks({ msPerTick: 4, rankCount: 2, monotonicMs: () => nowMs });
  const done: string[] = [];
  const pass = (ms: number): void => {
    nowMs += ms;
  };
  const work = async (accountId: string, { clientId = 'app', rank = 0, ms = 1 } = {}): Promise<void> => {
    await ticks.turn({ accountId, clientId }, rank);
    pass(ms);
    done.push(`${accountId}/${clientId}`);
  };
  return { work, done, pass };
}

test('accounts and their apps take turns, and no more is done in a tick than its share', async () => {
  const { work, done } = working();
  const all = Array.from({ length: 20 }, () => work('large', { clientId: 'one' }));
  all.push(work('large', { clientId: 'two' }), work('small'));
  await nextTick();
  expect(done.length).toBeLessThan(8);
  await Promise.all(all);
  expect(done.slice(0, 4).toSorted()).toEqual(['large/one', 'large/one', 'large/two', 'small/app']);
  expect(done).toHaveLength(22);
});

test('work of a lower rank goes first, however much of a higher one waits', async () => {
  const { work, done } = working();
  const all = Array.from({ length: 20 }, () => work('large', { rank: 1 }));
  await nextTick();
  const before = done.length;
  all.push(work('small'));
  await Promise.all(all);
  expect(done.indexOf('small/app')).toBeLessThanOrEqual(before + 1);
});

test('an account whose turn was too long has its next one as much later, and others go on', async () => {
  const { work, done, pass } = working();
  await work('large', { ms: 10 });
  const next = work('large');
  for (const name of ['small', 'other', 'small']) await work(name);
  await nextTick();
  expect(done).toEqual(['large/app', 'small/app', 'other/app', 'small/app']);
  pass(10);
  await next;
  expect(done.at(-1)).toBe('large/app');
});

test('all that a turn leads to without I/O counts as its time', async () => {
  const { work, done, pass } = working();
  const deep = async (): Promise<void> => {
    await work('large');
    for (let steps = 0; steps < 8; steps += 1) await undefined;
    pass(10);
  };
  await deep();
  const next = work('large');
  await work('small');
  expect(done).toEqual(['large/app', 'small/app']);
  pass(10);
  await next;
});

test('a turn that begins in a later tick counts as long as one that begins at once', async () => {
  const { work, done, pass } = working();
  await work('other', { ms: 5 });
  await work('large', { ms: 10 });
  const next = work('large');
  await work('small');
  expect(done).toEqual(['other/app', 'large/app', 'small/app']);
  pass(10);
  await next;
});

test('a turn in which the process was stopped for minutes pauses its account for half a second', async () => {
  const { work, done, pass } = working();
  await work('large', { ms: 120_000 });
  const next = work('large');
  await work('small');
  pass(500);
  await next;
  expect(done).toEqual(['large/app', 'small/app', 'large/app']);
});
