import { type Waiter, WaitingRoom } from './waiting-room.ts';

function fill(room: WaitingRoom, clientId: string, count: number) {
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
  for (const waiter of waiters) room.enter(waiter);
  return { waiters, evicted, waited };
}

test('a client at its bound may not add a waiting check, and other clients may', () => {
  const room = new WaitingRoom({ perClientMax: 2, max: 3 });
  const { waiters } = fill(room, 'one', 2);
  expect([room.hasRoomFor('one'), room.hasRoomFor('two')]).toEqual([false, true]);
  fill(room, 'two', 1);
  expect(room.hasRoomFor('three')).toBe(false);
  for (const waiter of waiters) room.leave(waiter);
  expect([room.hasRoomFor('one'), room.size]).toEqual([true, 1]);
});

test('checks beyond the bounds are evicted, the latest of the clients with the most first', () => {
  const room = new WaitingRoom({ perClientMax: 2, max: 3 });
  const greedy = fill(room, 'greedy', 5);
  const modest = fill(room, 'modest', 1);
  room.evictExcess();
  expect({ greedy: greedy.evicted, modest: modest.evicted, size: room.size }).toEqual({
    greedy: [2, 3, 4],
    modest: [],
    size: 3,
  });
});

test('waiting checks are notified, and checks that have left are not', () => {
  const room = new WaitingRoom({ perClientMax: 2, max: 2 });
  const { waiters, waited } = fill(room, 'one', 2);
  for (const waiter of waiters.slice(0, 1)) room.leave(waiter);
  room.notifyAll();
  expect(waited).toEqual([1]);
});

test('leaving twice frees one slot', () => {
  const room = new WaitingRoom({ perClientMax: 2, max: 2 });
  const { waiters } = fill(room, 'one', 2);
  const [first] = waiters;
  if (first !== undefined) for (let times = 0; times < 2; times++) room.leave(first);
  expect(room.size).toBe(1);
});
