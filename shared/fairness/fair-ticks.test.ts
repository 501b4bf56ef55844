import { setImmediate as nextTick } from 'node:timers/promises';
import { FairTicks } from './fair-ticks.ts';

/** Work that takes a millisecond each. */
function working() {
  let nowMs = 0;
  const ticks = new FairTicks({ msPerTick: 4, rankCount: 2, monotonicMs: () => nowMs });
  const done: string[] = [];
  const work = async (accountId: string, clientId = 'app', rank = 0): Promise<void> => {
    await ticks.turn({ accountId, clientId }, rank);
    nowMs += 1;
    done.push(`${accountId}/${clientId}`);
  };
  return { work, done };
}

test('accounts and their apps take turns, and no more is done in a tick than its share', async () => {
  const { work, done } = working();
  const all = Array.from({ length: 20 }, () => work('large', 'one'));
  all.push(work('large', 'two'), work('small'));
  await nextTick();
  expect(done.length).toBeLessThan(8);
  await Promise.all(all);
  expect(done.slice(0, 4).toSorted()).toEqual(['large/one', 'large/one', 'large/two', 'small/app']);
  expect(done).toHaveLength(22);
});

test('work of a lower rank goes first, however much of a higher one waits', async () => {
  const { work, done } = working();
  const all = Array.from({ length: 20 }, () => work('large', 'app', 1));
  await nextTick();
  const before = done.length;
  all.push(work('small'));
  await Promise.all(all);
  expect(done.indexOf('small/app')).toBeLessThanOrEqual(before + 1);
});
