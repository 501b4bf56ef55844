import { type Waiter, WaitingChecks } from './waiting-checks.ts';

function fill(waiting: WaitingChecks, clientId: string, count: number) {
  const evicted: number[] = [];
  const waited: number[] = [];
  const waiters = Array.from(
    { length: count },
    (_, index): Waiter => ({
      clientId,
      onWait: () => void waited.push(index),
      evict: () => void evicted.push(index),
    }),
  );
  for (const waiter of waiters) waiting.add(waiter);
  return { waiters, evicted, waited };
}

test('a client at its bound may not add a waiting check, and other clients may', () => {
  const waiting = new WaitingChecks({ perClientMax: 2, max: 3 });
  const { waiters } = fill(waiting, 'one', 2);
  expect([waiting.hasRoomFor('one'), waiting.hasRoomFor('two')]).toEqual([false, true]);
  fill(waiting, 'two', 1);
  expect(waiting.hasRoomFor('three')).toBe(false);
  for (const waiter of waiters) waiting.remove(waiter);
  expect([waiting.hasRoomFor('one'), waiting.size]).toEqual([true, 1]);
});

test('checks beyond the bounds are evicted, the latest of the clients with the most first', () => {
  const waiting = new WaitingChecks({ perClientMax: 2, max: 3 });
  const greedy = fill(waiting, 'greedy', 5);
  const modest = fill(waiting, 'modest', 1);
  waiting.evictExcess();
  expect({ greedy: greedy.evicted, modest: modest.evicted, size: waiting.size }).toEqual({
    greedy: [2, 3, 4],
    modest: [],
    size: 3,
  });
});

test('waiting checks are notified, and checks that have left are not', () => {
  const waiting = new WaitingChecks({ perClientMax: 2, max: 2 });
  const { waiters, waited } = fill(waiting, 'one', 2);
  for (const waiter of waiters.slice(0, 1)) waiting.remove(waiter);
  waiting.notifyAll();
  expect(waited).toEqual([1]);
});

test('leaving twice frees one slot', () => {
  const waiting = new WaitingChecks({ perClientMax: 2, max: 2 });
  const { waiters } = fill(waiting, 'one', 2);
  const [first] = waiters;
  if (first !== undefined) for (let times = 0; times < 2; times++) waiting.remove(first);
  expect(waiting.size).toBe(1);
});
