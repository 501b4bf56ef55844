import { setImmediate as nextTick } from 'node:timers/promises';
import { TickShare } from './tick-share.ts';

test('work may begin until its share of the tick is used up, and again in the next tick', async () => {
  let nowMs = 0;
  const share = new TickShare(4, () => nowMs);
  expect(share.hasTime()).toBe(true);
  nowMs = 3;
  expect(share.hasTime()).toBe(true);
  nowMs = 4;
  expect([share.hasTime(), share.hasTime()]).toEqual([false, false]);
  await nextTick();
  expect(share.hasTime()).toBe(true);
});
