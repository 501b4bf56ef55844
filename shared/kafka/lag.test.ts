import { readLag } from './lag.ts';

test('a partition without a commit counts from its beginning, beside others that have one', async () => {
  const admin = {
    fetchOffsets: async () => [
      {
        topic: 't',
        partitions: [
          { partition: 0, offset: '4', metadata: null },
          { partition: 1, offset: '-1', metadata: null },
        ],
      },
    ],
    fetchTopicOffsets: async () => [
      { partition: 0, low: '0', high: '9', offset: '9' },
      { partition: 1, low: '2', high: '6', offset: '6' },
    ],
    fetchTopicMetadata: () => Promise.reject(new Error('not needed')),
  };
  expect(await readLag(admin, { g: [{ name: 't' }] })).toEqual({ g: { t: 5 + 4 } });
});
