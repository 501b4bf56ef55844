import { progressOf } from './consumer-progress.ts';
import { PartitionWindow } from './partition-window.ts';

test('outside of its group nothing counts as fetched, whatever a consumer still reads', () => {
  const windows = [new PartitionWindow('t', 0), Object.assign(new PartitionWindow('t', 1), { paused: true })];
  expect(progressOf(true, [], windows).fetching).toEqual([windows[0]]);
  expect(progressOf(false, [], windows).fetching).toEqual([]);
});
