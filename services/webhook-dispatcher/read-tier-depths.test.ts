import { webhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { makeReadTierDepths } from './read-tier-depths.ts';

/** Two partitions per topic; in the 5 s tier, one is half committed and the other has no commit. */
function setUp() {
  const state = { nowMs: 0, callCount: 0 };
  const isShortest = (topic: string) => topic === webhookRetry['5s'].name;
  const admin = {
    fetchTopicOffsets: async (topic: string) => {
      state.callCount += 1;
      const high = isShortest(topic) ? '10' : '4';
      return [0, 1].map((partition) => ({ partition, offset: high, high, low: '2' }));
    },
    fetchTopicMetadata: async () => ({ topics: [] }),
    fetchOffsets: async ({ topics = [] }: { topics?: string[] }) =>
      topics.map((topic) => ({
        topic,
        partitions: [0, 1].map((partition) => ({
          partition,
          offset: isShortest(topic) ? (['6', '-1'][partition] ?? '') : '4',
          metadata: null,
        })),
      })),
  };
  return {
    state,
    read: makeReadTierDepths(admin as unknown as Parameters<typeof makeReadTierDepths>[0], () => state.nowMs),
  };
}

test('counts the uncommitted records of a tier, and all records of a partition without a commit', async () => {
  const { read } = setUp();
  expect(await read()).toEqual({ '5s': 4 + 8, '5m': 0, '30m': 0, '2h': 0, '5h': 0, '10h': 0 });
});

test('asks the broker at most every 15 s', async () => {
  const { state, read } = setUp();
  await read();
  state.nowMs = 15_000;
  await read();
  expect(state.callCount).toBe(6);
  state.nowMs = 15_001;
  await read();
  expect(state.callCount).toBe(12);
});
