import { uidOfMember, type WatchMember, watchMember } from '#shared/contracts/watches/watch.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { WatchMembers } from '#shared/stores/watches/members/watch-members.ts';

type Dependencies = {
  readonly members: Pick<WatchMembers, 'readNewer' | 'readMany' | 'project'>;
  readonly publish: KafkaConnection['publish'];
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * Makes topic and view agree on a member that was published, and of which the view has another version by now:
 *
 * - A newer one: another writer changed it, and may have been the first to reach the topic. Compaction keeps the last record, so the
 *   newest version is published again.
 * - An older one: Redis has lost the write, and was restored before the record reached the topic. The member is written again.
 */
export async function publishNewer(
  { members, publish, now }: Dependencies,
  published: WatchMember,
): Promise<void> {
  for (let last = published; ; ) {
    const current = await members.readNewer(last);
    if (current === undefined) break;
    await publish(watchMember, current);
    last = current;
  }
  const [stored] = await members.readMany(uidOfMember(published), [published.memberId]);
  if (stored !== undefined && stored.version < published.version) await members.project(published, now());
}
