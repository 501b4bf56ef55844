import { makeTickLimiter } from './tick-limiter.ts';

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

test('checks beyond the capacity of a tick continue in the next ticks, the interactive lane first', async () => {
  const { waitForTick } = makeTickLimiter();
  const finished: string[] = [];
  const finish = async (lane: 'interactive' | 'bulk') => {
    await waitForTick(lane);
    finished.push(lane);
  };
  const finishing = Array.from({ length: 200 }, () => finish('bulk'));
  finishing.push(finish('interactive'));
  await Promise.resolve();
  const firstCount = finished.length;
  expect(firstCount).toBeLessThan(200);
  await nextTick();
  expect(finished[firstCount]).toBe('interactive');
  expect(finished.length).toBeLessThan(201);
  await Promise.all(finishing);
  expect(finished).toHaveLength(201);
});

test('no check waits while the tick has capacity', async () => {
  const { waitForTick } = makeTickLimiter();
  expect(waitForTick('bulk')).toBeUndefined();
  await nextTick();
  await nextTick();
  for (let count = 0; count < 64; count++) expect(waitForTick('bulk')).toBeUndefined();
  expect(waitForTick('bulk')).toBeDefined();
});
