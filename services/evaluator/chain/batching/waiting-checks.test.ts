import type { Owner } from '#shared/fairness/fair-shares.ts';
import { type Waiter, WaitingChecks } from './waiting-checks.ts';

function fill(waiting: WaitingChecks, owner: Owner, count: number) {
  const evicted: number[] = [];
  const waited: number[] = [];
  const waiters = Array.from(
    { length: count },
    (_, index): Waiter => ({
      owner,
      onWait: () => void waited.push(index),
      evict: () => void evicted.push(index),
    }),
  );
  for (const waiter of waiters) waiting.add(waiter);
  return { waiters, evicted, waited };
}

const appOf = (clientId: string): Owner => ({ accountId: 'acc_1', clientId });

test('an account at its share may not add a waiting check in any app, and other accounts may', () => {
  const waiting = new WaitingChecks(8);
  const [first, second] = [fill(waiting, appOf('one'), 2), fill(waiting, appOf('two'), 1)];
  const room = () =>
    [appOf('one'), appOf('two'), appOf('three'), 'acc_2'].map((app) => waiting.hasRoomFor(app));
  expect(room()).toEqual([false, false, false, true]);
  for (const waiter of [...first.waiters, ...second.waiters]) waiting.remove(waiter);
  expect([...room(), waiting.size]).toEqual([true, true, true, true, 0]);
});

test('checks beyond the bound are evicted, those of the owners with the most first, and the oldest stay', () => {
  const waiting = new WaitingChecks(8);
  const greedy = fill(waiting, 'greedy', 5);
  const modest = fill(waiting, 'modest', 1);
  waiting.evictExcess();
  expect({ greedy: greedy.evicted, modest: modest.evicted, size: waiting.size }).toEqual({
    greedy: [3, 4],
    modest: [],
    size: 4,
  });
});

test('a check beyond the bound stays if there is room for it by the time of the eviction', () => {
  const waiting = new WaitingChecks(8);
  const { waiters, evicted } = fill(waiting, 'one', 4);
  for (const waiter of waiters.slice(0, 1)) waiting.remove(waiter);
  waiting.evictExcess();
  expect([evicted, waiting.size]).toEqual([[], 3]);
});

test('waiting checks are notified, and checks that have left are not', () => {
  const waiting = new WaitingChecks(8);
  const { waiters, waited } = fill(waiting, 'one', 2);
  for (const waiter of waiters.slice(0, 1)) waiting.remove(waiter);
  waiting.notifyAll();
  expect(waited).toEqual([1]);
});

test('leaving twice frees one slot', () => {
  const waiting = new WaitingChecks(8);
  const { waiters } = fill(waiting, 'one', 2);
  const [first] = waiters;
  if (first !== undefined) for (let times = 0; times < 2; times++) waiting.remove(first);
  expect(waiting.size).toBe(1);
});
