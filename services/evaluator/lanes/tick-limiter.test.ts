import { makeTickLimiter } from './tick-limiter.ts';

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

/** A limiter of checks that take a millisecond each, and a list of those that are finished. */
function finishing() {
  let nowMs = 0;
  const { waitForTick } = makeTickLimiter(() => nowMs);
  const finished: string[] = [];
  const finish = async (lane: 'interactive' | 'bulk') => {
    await waitForTick(lane);
    finished.push(lane);
    nowMs += 1;
  };
  return { finish, finished };
}

test('checks beyond the share of a tick continue in the next ticks, the interactive lane first', async () => {
  const { finish, finished } = finishing();
  const all = Array.from({ length: 40 }, () => finish('bulk'));
  await nextTick();
  const firstCount = finished.length;
  expect(firstCount).toBeLessThan(40);
  all.push(finish('interactive'));
  await Promise.all(all);
  expect([finished.indexOf('interactive'), finished.length]).toEqual([firstCount, 41]);
});

test('a tick ends with the check that uses its share up, however many wait', async () => {
  const { finish, finished } = finishing();
  const all = Array.from({ length: 40 }, () => finish('bulk'));
  for (let before = -1; before !== finished.length; ) {
    before = finished.length;
    await nextTick();
    expect(finished.length - before).toBeLessThanOrEqual(8);
  }
  await Promise.all(all);
  expect(finished).toHaveLength(40);
});
