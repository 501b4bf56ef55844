import type { Admin } from 'kafkajs';
import { readLag } from './lag.ts';

test('the lag of a group that is rebalancing comes from its commits, because the broker reports no members', async () => {
  const admin = {
    listGroups: async () => ({ groups: [{ groupId: 'g', protocolType: 'consumer' }] }),
    describeGroups: async () => ({
      groups: [{ groupId: 'g', members: [{ memberMetadata: Buffer.alloc(0) }] }],
    }),
    fetchOffsets: async () => [{ topic: 't', partitions: [{ partition: 0, offset: '4', metadata: null }] }],
    fetchTopicOffsets: async () => [{ partition: 0, low: '0', high: '9', offset: '9' }],
  } as unknown as Admin;
  expect(await readLag(admin)).toEqual({ g: { t: 5 } });
});

test('a partition without a commit counts from its beginning, beside others that have one', async () => {
  const admin = {
    listGroups: async () => ({ groups: [{ groupId: 'g', protocolType: 'consumer' }] }),
    describeGroups: async () => ({ groups: [{ groupId: 'g', members: [] }] }),
    // The broker leaves out partition 1, of which nothing was committed.
    fetchOffsets: async () => [{ topic: 't', partitions: [{ partition: 0, offset: '9', metadata: null }] }],
    fetchTopicOffsets: async () => [
      { partition: 0, low: '0', high: '9', offset: '9' },
      { partition: 1, low: '2', high: '6', offset: '6' },
    ],
  } as unknown as Admin;
  expect(await readLag(admin)).toEqual({ g: { t: 4 } });
});
