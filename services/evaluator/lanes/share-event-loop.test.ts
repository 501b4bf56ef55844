import { aRecord } from '../../../test/support/an-evaluator.ts';
import { makeEventLoopShares } from './share-event-loop.ts';

afterEach(() => jest.useRealTimers());

const nextTick = () => new Promise((resolve) => setImmediate(resolve));

/** A limiter of checks that take a millisecond each, and a list of those that are finished. */
function finishing() {
  let nowMs = 0;
  const { waitForTick } = makeEventLoopShares(() => nowMs);
  const finished: string[] = [];
  const finish = async (lane: 'interactive' | 'bulk', accountId = 'acc') => {
    await waitForTick(lane, { accountId, clientId: 'app' });
    finished.push(accountId === 'acc' ? lane : accountId);
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

test('an account whose checks all end at once delays another one by a turn', async () => {
  const { finish, finished } = finishing();
  const all = Array.from({ length: 40 }, () => finish('bulk'));
  await nextTick();
  const firstCount = finished.length;
  all.push(finish('bulk', 'other'));
  await Promise.all(all);
  expect(finished.indexOf('other')).toBeLessThanOrEqual(firstCount + 1);
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

test('long work runs in slices, and the event loop turns between them', async () => {
  let nowMs = 0;
  const { forEachInSlices } = makeEventLoopShares(() => nowMs);
  const seen: string[] = [];
  let turns = 0;
  const turn = () => {
    turns += 1;
    if (seen.length < 8) setImmediate(turn);
  };
  setImmediate(turn);
  const work = (name: string) =>
    forEachInSlices([1, 2, 3, 4], (item) => {
      nowMs += 1;
      seen.push(`${name}${item}@${turns}`);
    });
  await Promise.all([work('a'), work('b')]);
  expect(seen.map((text) => text.split('@')[0])).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'a4', 'b3', 'b4']);
  expect(new Set(seen.map((text) => text.split('@')[1])).size).toBe(4);
});

test('long work pauses before each slice while a single check is evaluated, and not while one is parked', async () => {
  const eventLoop = makeEventLoopShares();
  const check = Promise.withResolvers<void>();
  const parked: string[] = [];
  const counted = eventLoop.counted<string>(async (_, { park }) => {
    park(() => undefined);
    await check.promise;
  });
  const ended = counted('check', { ...aRecord(), park: () => void parked.push('check') });
  expect(parked).toEqual(['check']);
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  const order: string[] = [];
  await eventLoop.forEachInSlices(['beside', 'parked'], (name) => void order.push(name));
  expect(order.splice(0)).toEqual(['beside', 'parked']);
  const waits = eventLoop.counted<string>(() => check.promise)('check', aRecord());
  const work = eventLoop.forEachInSlices(['first', 'second'], (name) => void order.push(name));
  for (let ticks = 0; ticks < 10; ticks += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual([]);
  jest.runOnlyPendingTimers();
  await work;
  expect(order).toEqual(['first', 'second']);
  check.resolve();
  await Promise.all([ended, waits]);
});
