import { type WatchMember, watchMember } from '#shared/contracts/watch.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { WatchMembers } from '#shared/redis/watch-members.ts';

type Dependencies = {
  readonly members: Pick<WatchMembers, 'readNewer'>;
  readonly publish: KafkaConnection['publish'];
};

/**
 * Publishes the view's version of a member that was published while another writer changed it. The other writer may have
 * been the first to reach the topic, and compaction keeps the last record: that must be the newest version.
 */
export async function publishNewer(
  { members, publish }: Dependencies,
  published: WatchMember,
): Promise<void> {
  for (let last = published; ; ) {
    const current = await members.readNewer(last);
    if (current === undefined) return;
    await publish(watchMember, current);
    last = current;
  }
}
