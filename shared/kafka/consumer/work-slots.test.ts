import fc from 'fast-check';
import { type WorkSlot, WorkSlots } from './work-slots.ts';

const ANY = Number.MAX_SAFE_INTEGER;
const appOf = (accountId: string, app: number) => ({ accountId, clientId: `${accountId}/${app}` });

const slotsOf = (bounds: {
  running?: number;
  runningBytes?: number;
  parked?: number;
  parkedBytes?: number;
}) =>
  new WorkSlots(
    { countMax: bounds.running ?? 10, bytesMax: bounds.runningBytes ?? ANY },
    { countMax: bounds.parked ?? 0, bytesMax: bounds.parkedBytes ?? ANY },
  );

type Owner = Parameters<WorkSlots['mayRun']>[0];

function runAll(slots: WorkSlots, owner: Owner, bytes = 1): WorkSlot[] {
  const running: WorkSlot[] = [];
  while (slots.mayRun(owner, bytes)) running.push(slots.acquire(owner, bytes));
  return running;
}

test('leaves slots to other partitions when some have a backlog', () => {
  const slots = slotsOf({ running: 100 });
  for (const partition of ['t/1', 't/2', 't/3', 't/4']) runAll(slots, partition);
  expect(runAll(slots, 't/5').length).toBeGreaterThan(0);
  expect(slots.runningCount).toBeLessThan(100);
});

test('an account with 500 apps has the running and the parking slots of one account', () => {
  const slots = slotsOf({ running: 100, parked: 400 });
  for (let round = 0; round < 10; round += 1)
    for (let app = 0; app < 500; app += 1) for (const slot of runAll(slots, appOf('big', app))) slot.park();
  expect([slots.runningCount, slots.parkedCount]).toEqual([38, 150]);
  const [first] = runAll(slots, appOf('other', 1));
  expect([first?.park(), slots.mayRun(appOf('other', 1), 1)]).toEqual([true, true]);
});

test('processes one record at a time with one slot', () => {
  const slots = slotsOf({ running: 1 });
  expect(runAll(slots, 'a')).toHaveLength(1);
  expect([slots.isFull, slots.mayRun('b', 1)]).toEqual([true, false]);
});

test('gives the slot of a parked record to another, and frees the parking slot at its end', () => {
  const slots = slotsOf({ running: 1, parked: 1 });
  const first = slots.acquire('a', 10);
  expect([first.park(), first.park()]).toEqual([true, true]);
  expect([slots.runningCount, slots.parkedCount, slots.mayRun('a', 1)]).toEqual([0, 1, true]);
  const second = slots.acquire('a', 1);
  // The parking slots are taken: the record keeps its running slot.
  expect([second.park(), slots.runningCount]).toEqual([false, 1]);
  first.release();
  expect(second.park()).toBe(true);
  second.release();
  expect([slots.runningCount, slots.parkedCount]).toEqual([0, 0]);
});

test('bounds running and parked records by their bytes too', () => {
  const slots = slotsOf({ runningBytes: 10, parked: 10, parkedBytes: 10 });
  const first = slots.acquire('a', 6);
  expect([slots.mayRun('b', 6), slots.mayRun('b', 4)]).toEqual([false, true]);
  expect([first.park(), slots.acquire('b', 6).park(), slots.acquire('c', 4).park()]).toEqual([
    true,
    false,
    true,
  ]);
});

test('runs a record that is larger than all bytes alone', () => {
  const slots = slotsOf({ runningBytes: 32 * 1024 * 1024 });
  expect(slots.mayRun('a', 100 * 1024 * 1024)).toBe(true);
});

test('a record that runs without a slot takes none from others at its end', () => {
  const slots = slotsOf({ running: 1 });
  const [first, beyond] = [slots.acquire('a', 1), slots.acquire('a', 1)];
  beyond.release();
  expect(slots.runningCount).toBe(1);
  first.release();
  expect(slots.runningCount).toBe(0);
});

test('exceeds no bound and returns to zero, for any order of starts and ends', () => {
  const step = fc.record({
    owner: fc.constantFrom<Owner>('t/0', appOf('a', 1), appOf('a', 2), appOf('b', 1)),
    act: fc.constantFrom('enter', 'park', 'end'),
    nth: fc.nat(9),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const slots = slotsOf({ running: 5, parked: 4, parkedBytes: 6 });
      const open: WorkSlot[] = [];
      for (const { owner, act, nth } of steps) {
        const bytes = (nth % 3) + 1;
        if (act === 'enter' && slots.mayRun(owner, bytes)) open.push(slots.acquire(owner, bytes));
        if (act === 'park') open[nth]?.park();
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
