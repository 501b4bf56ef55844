import fc from 'fast-check';
import type { KafkaMessage } from 'kafkajs';
import { PartitionWindow, type WindowRecord } from './partition-window.ts';

const record = (offset: number, key = `k${offset}`) =>
  ({ offset: String(offset), key: Buffer.from(key), value: Buffer.from('{}') }) as KafkaMessage;

const windowOf = (...records: KafkaMessage[]) => {
  const window = new PartitionWindow<unknown>('t', 0);
  window.accept(records, 1_000);
  return window;
};

const takeAll = (window: PartitionWindow<unknown>) => {
  const taken: WindowRecord<unknown>[] = [];
  while (window.waitingCount > 0) {
    const entry = window.take();
    if (entry) taken.push(entry);
  }
  return taken;
};

test('never passes an unfinished record with the commit offset, whatever the order of finishing', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5, 6, 7]), (order) => {
      const window = windowOf(...Array.from({ length: 8 }, (_, i) => record(i)));
      const taken = takeAll(window);
      const done = new Set<number>();
      for (const offset of order) {
        const entry = taken[offset];
        if (entry) window.finish(entry);
        done.add(offset);
        const oldest = [0, 1, 2, 3, 4, 5, 6, 7].find((o) => !done.has(o)) ?? 8;
        expect(window.commitOffset).toBe(oldest);
      }
    }),
  );
});

test('runs the records of one key one after another, in offset order', () => {
  const window = windowOf(record(0, 'a'), record(1, 'b'), record(2, 'a'), record(3, 'a'));
  const [first, second] = takeAll(window);
  expect([first?.offset, second?.offset]).toEqual([0, 1]);
  const third = first && window.finish(first);
  expect(third?.offset).toBe(2);
  expect(window.commitOffset).toBe(1);
  const fourth = third && window.finish(third);
  expect(fourth?.offset).toBe(3);
  if (second) window.finish(second);
  if (fourth) window.finish(fourth);
  expect(window.commitOffset).toBe(4);
  expect(window.aheadCount).toBe(0);
});

test('skips records that are fetched again after a rebalance', () => {
  const window = windowOf(record(0), record(1));
  takeAll(window);
  window.accept([record(0), record(1), record(2)], 1_000);
  expect(window.waitingCount).toBe(1);
  expect(window.head?.offset).toBe(2);
});

test('loses no record to a new leader that knows less of the end, and begins anew with a new topic', () => {
  const window = windowOf(record(0), record(1), record(2), record(3));
  takeAll(window);
  window.accept([record(2)], 3);
  expect([window.commitOffset, window.fetchedOffset]).toEqual([0, 4]);
  window.accept([], 3);
  expect([window.commitOffset, window.fetchedOffset]).toEqual([0, 4]);
  window.accept([record(0)], 1);
  expect([window.waitingCount, window.fetchedOffset]).toEqual([1, 1]);
});

test('does not make records without a key wait for one another', () => {
  const window = windowOf(record(0, ''), record(1, ''));
  expect(takeAll(window)).toHaveLength(2);
});

test('counts the bytes of a record that waits for another of its key until it runs', () => {
  const window = windowOf(record(0, 'k'), record(1, 'k'), record(2, 'k'));
  const [first] = takeAll(window);
  expect([window.waitingCount, window.waitingBytes]).toEqual([0, 4]);
  const second = first && window.finish(first);
  expect(window.waitingBytes).toBe(2);
  if (second) window.finish(second);
  expect(window.waitingBytes).toBe(0);
});
