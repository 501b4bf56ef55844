import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { ConsumerProgress } from './consumer-progress.ts';
import { startProgressWatch } from './watch-progress.ts';

/** Short, so that the tests are; what is asserted is an order of states, never a duration. */
const STALL_MS = 500;

type Position = { readonly committed: number; readonly end: number };

/** A consumer of one partition, and a broker that knows where that stands. */
function watch(progress: Partial<ConsumerProgress>, position: () => Position) {
  let lookCount = 0;
  const watched = startProgressWatch({
    groupId: 'g',
    topics: ['t'],
    progress: () => ({ isJoined: true, silentWorkMs: 0, fetching: [], ...progress }),
    admin: {
      fetchOffsets: async () => {
        lookCount++;
        const offset = String(position().committed);
        return [{ topic: 't', partitions: [{ partition: 0, offset, metadata: null }] }];
      },
      fetchTopicOffsets: async () => {
        const high = String(position().end);
        return [{ partition: 0, offset: high, high, low: '0' }];
      },
    },
    stallMsMax: STALL_MS,
    log: makeSilentLogger(),
  });
  /** Until the broker was looked at so often that a standstill would have been seen. */
  const untilJudged = () => waitUntil('the looks', () => lookCount > 6);
  const untilFault = () => waitUntil('a fault', () => watched.check() !== true);
  return Object.assign(watched, { untilJudged, untilFault });
}
const fetching = (fetchedOffset: number) => [{ topic: 't', partition: 0, fetchedOffset }];

test('a consumer that has fetched all there is is well, whatever it has committed', async () => {
  await using watched = watch({ fetching: fetching(5) }, () => ({ committed: 2, end: 5 }));
  await watched.untilJudged();
  expect(watched.check()).toBe(true);
});

test('records that wait on a broker that answers, and are not fetched, are a fault', async () => {
  await using watched = watch({ fetching: fetching(5) }, () => ({ committed: 5, end: 9 }));
  expect(watched.check()).toBe(true);
  await watched.untilFault();
});

test('a backlog in which the consumer moves is none', async () => {
  let fetched = 0;
  const moving = {
    get fetching() {
      return fetching(fetched++);
    },
  };
  await using watched = watch(moving, () => ({ committed: 0, end: 1_000_000 }));
  await watched.untilJudged();
  expect(watched.check()).toBe(true);
});

test('a partition that is paused, or another member’s, is not waited for', async () => {
  await using watched = watch({ fetching: [] }, () => ({ committed: 0, end: 9 }));
  await watched.untilJudged();
  expect(watched.check()).toBe(true);
});

test('a process that is no member of its group, while nobody works its records, is a fault', async () => {
  await using watched = watch({ isJoined: false }, () => ({ committed: 0, end: 9 }));
  await watched.untilFault();
});

test('a broker that does not answer is no fault, however long, and its return begins the time anew', async () => {
  let lookCount = 0;
  let isAway = true;
  await using watched = watch({ fetching: fetching(5) }, () => {
    lookCount++;
    if (isAway) throw new Error('away');
    return { committed: 5, end: 9 };
  });
  await waitUntil('the looks', () => lookCount > 6);
  expect(watched.check()).toBe(true);
  isAway = false;
  await waitUntil('the next look', () => lookCount > 8);
  expect(watched.check()).toBe(true);
  await watched.untilFault();
});

test('a record in work without a sign of life is a fault', async () => {
  await using watched = watch({ silentWorkMs: STALL_MS + 1 }, () => ({ committed: 0, end: 0 }));
  expect(watched.check()).toContain('a record has been in work');
});
