import fc from 'fast-check';
import { type PlacesTaken, type WorkPlace, WorkPlaces } from './work-places.ts';

const aPartition = (): PlacesTaken => ({ runningCount: 0, parkedCount: 0 });
const ignore = () => undefined;

function runAll(places: WorkPlaces, partition: PlacesTaken, bytes = 1): WorkPlace[] {
  const running: WorkPlace[] = [];
  while (places.mayRun(partition)) running.push(places.enter(partition, bytes));
  return running;
}

test('a backlog in some partitions leaves places to the others', () => {
  const places = new WorkPlaces({ runningMax: 100, parkedMax: 100, parkedBytesMax: 100 });
  const greedy = [aPartition(), aPartition(), aPartition(), aPartition()];
  for (const partition of greedy) runAll(places, partition);
  const modest = aPartition();
  expect(places.mayRun(modest)).toBe(true);
  runAll(places, modest);
  expect(modest.runningCount).toBeGreaterThan(0);
  expect(places.runningCount).toBeLessThan(100);
});

test('one place is enough to work one record at a time', () => {
  const places = new WorkPlaces({ runningMax: 1, parkedMax: 0, parkedBytesMax: 0 });
  const partition = aPartition();
  expect(runAll(places, partition)).toHaveLength(1);
  expect([places.isFull, places.mayRun(aPartition())]).toEqual([true, false]);
});

test('a parked record gives its place to another, and frees its parking place at its end', () => {
  const places = new WorkPlaces({ runningMax: 1, parkedMax: 1, parkedBytesMax: 10 });
  const partition = aPartition();
  const first = places.enter(partition, 10);
  expect([first.park(ignore), first.park(ignore)]).toEqual([true, true]);
  expect([places.runningCount, places.parkedCount, places.mayRun(partition)]).toEqual([0, 1, true]);
  const second = places.enter(partition, 1);
  // The parking places are taken: it keeps its run place.
  expect(second.park(ignore)).toBe(false);
  first.end();
  expect(second.park(ignore)).toBe(true);
  second.end();
  expect({ ...partition, running: places.runningCount, parked: places.parkedCount }).toEqual({
    runningCount: 0,
    parkedCount: 0,
    running: 0,
    parked: 0,
  });
});

test('parked records are bounded by their bytes too', () => {
  const places = new WorkPlaces({ runningMax: 10, parkedMax: 10, parkedBytesMax: 10 });
  const partition = aPartition();
  expect(places.enter(partition, 6).park(ignore)).toBe(true);
  expect(places.enter(partition, 6).park(ignore)).toBe(false);
  expect(places.enter(partition, 4).park(ignore)).toBe(true);
});

test('a stop ends the waits of those that are parked, and of no others', () => {
  const places = new WorkPlaces({ runningMax: 4, parkedMax: 2, parkedBytesMax: 10 });
  const left: string[] = [];
  const enter = (name: string) => {
    const place = places.enter(aPartition(), 1);
    return { park: () => place.park(() => void left.push(name)), end: place.end };
  };
  const [parked, over, running] = [enter('parked'), enter('over'), enter('running')];
  parked.park();
  over.park();
  over.end();
  places.leaveAll();
  expect(left).toEqual(['parked']);
  running.end();
  parked.end();
  expect([places.runningCount, places.parkedCount]).toEqual([0, 0]);
});

test('whatever comes and goes, no bound is passed and the counts come back to nothing', () => {
  const step = fc.record({
    partition: fc.nat(2),
    act: fc.constantFrom('enter', 'park', 'end'),
    nth: fc.nat(9),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const places = new WorkPlaces({ runningMax: 5, parkedMax: 4, parkedBytesMax: 6 });
      const partitions = [aPartition(), aPartition(), aPartition()];
      const open: WorkPlace[] = [];
      for (const { partition, act, nth } of steps) {
        const taken = partitions[partition] as PlacesTaken;
        if (act === 'enter' && places.mayRun(taken)) open.push(places.enter(taken, (nth % 3) + 1));
        if (act === 'park') open[nth]?.park(ignore);
        if (act === 'end') for (const place of open.splice(nth, 1)) place.end();
        expect(places.runningCount).toBeLessThanOrEqual(5);
        expect(places.parkedCount).toBeLessThanOrEqual(4);
        expect(places.runningCount + places.parkedCount).toBe(open.length);
      }
      for (const place of open) place.end();
      expect([places.runningCount, places.parkedCount]).toEqual([0, 0]);
    }),
  );
});
