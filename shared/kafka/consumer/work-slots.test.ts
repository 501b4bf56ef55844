import fc from 'fast-check';
import { type SlotsHeld, type WorkSlot, WorkSlots } from './work-slots.ts';

const aPartition = (): SlotsHeld => ({ runningCount: 0, runningBytes: 0, parkedCount: 0 });
const ANY_BYTES = { runningBytesMax: Infinity };
const ignore = () => undefined;

function runAll(slots: WorkSlots, partition: SlotsHeld, bytes = 1): WorkSlot[] {
  const running: WorkSlot[] = [];
  while (slots.mayRun(partition)) running.push(slots.acquire(partition, bytes));
  return running;
}

test('leaves slots to other partitions when some have a backlog', () => {
  const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 100, parkedMax: 100, parkedBytesMax: 100 });
  const greedy = [aPartition(), aPartition(), aPartition(), aPartition()];
  for (const partition of greedy) runAll(slots, partition);
  const modest = aPartition();
  expect(slots.mayRun(modest)).toBe(true);
  runAll(slots, modest);
  expect(modest.runningCount).toBeGreaterThan(0);
  expect(slots.runningCount).toBeLessThan(100);
});

test('processes one record at a time with one slot', () => {
  const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 1, parkedMax: 0, parkedBytesMax: 0 });
  const partition = aPartition();
  expect(runAll(slots, partition)).toHaveLength(1);
  expect([slots.isFull, slots.mayRun(aPartition())]).toEqual([true, false]);
});

test('gives the slot of a parked record to another, and frees the parking slot at its end', () => {
  const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 1, parkedMax: 1, parkedBytesMax: 10 });
  const partition = aPartition();
  const first = slots.acquire(partition, 10);
  expect([first.park(ignore), first.park(ignore)]).toEqual([true, true]);
  expect([slots.runningCount, slots.parkedCount, slots.mayRun(partition)]).toEqual([0, 1, true]);
  const second = slots.acquire(partition, 1);
  // The parking slots are taken: the record keeps its running slot.
  expect(second.park(ignore)).toBe(false);
  first.release();
  expect(second.park(ignore)).toBe(true);
  second.release();
  expect({ ...partition, running: slots.runningCount, parked: slots.parkedCount }).toEqual({
    runningCount: 0,
    runningBytes: 0,
    parkedCount: 0,
    running: 0,
    parked: 0,
  });
});

test('bounds parked records by their bytes too', () => {
  const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 10, parkedMax: 10, parkedBytesMax: 10 });
  const partition = aPartition();
  expect(slots.acquire(partition, 6).park(ignore)).toBe(true);
  expect(slots.acquire(partition, 6).park(ignore)).toBe(false);
  expect(slots.acquire(partition, 4).park(ignore)).toBe(true);
});

test('ends the waits of parked records, and of no others, on a stop', () => {
  const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 4, parkedMax: 2, parkedBytesMax: 10 });
  const left: string[] = [];
  const enter = (name: string) => {
    const slot = slots.acquire(aPartition(), 1);
    return { park: () => slot.park(() => void left.push(name)), release: slot.release };
  };
  const [parked, over, running] = [enter('parked'), enter('over'), enter('running')];
  parked.park();
  over.park();
  over.release();
  slots.leaveParked();
  expect(left).toEqual(['parked']);
  running.release();
  parked.release();
  expect([slots.runningCount, slots.parkedCount]).toEqual([0, 0]);
});

test('exceeds no bound and returns to zero, for any order of starts and ends', () => {
  const step = fc.record({
    partition: fc.nat(2),
    act: fc.constantFrom('enter', 'park', 'end'),
    nth: fc.nat(9),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 5, parkedMax: 4, parkedBytesMax: 6 });
      const partitions = [aPartition(), aPartition(), aPartition()];
      const open: WorkSlot[] = [];
      for (const { partition, act, nth } of steps) {
        const taken = partitions[partition] as SlotsHeld;
        if (act === 'enter' && slots.mayRun(taken)) open.push(slots.acquire(taken, (nth % 3) + 1));
        if (act === 'park') open[nth]?.park(ignore);
        if (act === 'end') for (const slot of open.splice(nth, 1)) slot.release();
        expect(slots.runningCount).toBeLessThanOrEqual(5);
        expect(slots.parkedCount).toBeLessThanOrEqual(4);
        expect(slots.runningCount + slots.parkedCount).toBe(open.length);
      }
      for (const slot of open) slot.release();
      expect([slots.runningCount, slots.parkedCount]).toEqual([0, 0]);
    }),
  );
});

test('bounds the bytes of running records as it bounds their number, and lets one record more run', () => {
  const slots = new WorkSlots({ runningMax: 100, runningBytesMax: 100, parkedMax: 0, parkedBytesMax: 0 });
  const [greedy, modest] = [aPartition(), aPartition()];
  const running = runAll(slots, greedy, 40);
  expect([running.length, slots.mayRun(modest)]).toEqual([2, true]);
  slots.acquire(modest, 40);
  expect(slots.mayRun(aPartition())).toBe(false);
  for (const slot of running) slot.release();
  expect(runAll(slots, greedy, 1_000)).toHaveLength(1);
});

test('calls the function of the last call when the waits of parked records are ended', () => {
  const slots = new WorkSlots({ ...ANY_BYTES, runningMax: 1, parkedMax: 1, parkedBytesMax: 10 });
  const slot = slots.acquire(aPartition(), 1);
  const [first, second] = [jest.fn(), jest.fn()];
  slot.park(first);
  slot.park(second);
  slots.leaveParked();
  expect([first.mock.calls.length, second.mock.calls.length]).toEqual([0, 1]);
});
