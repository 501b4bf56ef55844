import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type ConsumerProgress, startProgressCheck } from './check-progress.ts';

const STALL_MS = 500;
/** By the clock of these tests, which stands still between polls: six polls see a stall. */
const POLL_MS = 100;

let nowMs = 0;
beforeEach(() => void jest.spyOn(performance, 'now').mockImplementation(() => nowMs));
afterEach(() => void jest.restoreAllMocks());

type Position = { readonly committed: number; readonly end: number };

/** A consumer of one partition, and a broker that knows its end offset. */
function watch(progress: Partial<ConsumerProgress>, position: () => Position) {
  let pollCount = 0;
  const watched = startProgressCheck({
    groupId: 'g',
    topics: ['t'],
    progress: () => ({ isConsuming: true, silentMs: 0, fetching: [], ...progress }),
    admin: {
      fetchOffsets: async () => {
        pollCount++;
        nowMs += POLL_MS;
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
  /** Waits until the broker was polled often enough to have seen a stall. */
  const untilJudged = () => waitUntil('the polls', () => pollCount > 6);
  const untilFault = () => waitUntil('a fault', () => watched.isWell() !== true);
  return Object.assign(watched, { untilJudged, untilFault });
}
const fetching = (fetchedOffset: number) => [{ topic: 't', partition: 0, fetchedOffset }];

test('is well when all records are fetched, whatever is committed', async () => {
  await using watched = watch({ fetching: fetching(5) }, () => ({ committed: 2, end: 5 }));
  await watched.untilJudged();
  expect(watched.isWell()).toBe(true);
});

test('reports records that wait unfetched on a broker that answers', async () => {
  await using watched = watch({ fetching: fetching(5) }, () => ({ committed: 5, end: 9 }));
  expect(watched.isWell()).toBe(true);
  await watched.untilFault();
});

test('is well while the consumer moves through a backlog', async () => {
  let fetched = 0;
  const moving = {
    get fetching() {
      return fetching(fetched++);
    },
  };
  await using watched = watch(moving, () => ({ committed: 0, end: 1_000_000 }));
  await watched.untilJudged();
  expect(watched.isWell()).toBe(true);
});

test('ignores a partition that is paused or another member’s', async () => {
  await using watched = watch({ fetching: [] }, () => ({ committed: 0, end: 9 }));
  await watched.untilJudged();
  expect(watched.isWell()).toBe(true);
});

test('reports a process that is outside of its group while no member processes the records', async () => {
  await using watched = watch({ isConsuming: false }, () => ({ committed: 0, end: 9 }));
  await watched.untilFault();
});

test('is well while the broker does not answer, and measures a stall from its return', async () => {
  let pollCount = 0;
  let isAway = true;
  await using watched = watch({ fetching: fetching(5) }, () => {
    pollCount++;
    if (isAway) throw new Error('away');
    return { committed: 5, end: 9 };
  });
  await waitUntil('the polls', () => pollCount > 6);
  expect(watched.isWell()).toBe(true);
  isAway = false;
  await waitUntil('the next poll', () => pollCount > 8);
  expect(watched.isWell()).toBe(true);
  await watched.untilFault();
});

test('reports a record that makes no progress', async () => {
  await using watched = watch({ silentMs: STALL_MS + 1 }, () => ({ committed: 0, end: 0 }));
  expect(watched.isWell()).toContain('a record has been in progress');
});
