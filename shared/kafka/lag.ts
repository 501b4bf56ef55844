import { setTimeout as delay } from 'node:timers/promises';
import { type Admin, AssignerProtocol } from 'kafkajs';
import { READER_GROUP_PREFIX } from './read-topic.ts';
import { type PartitionOffsets, readTopicOffsets } from './topic-offsets.ts';

/** Uncommitted records, by consumer group and topic. */
type Lag = Readonly<Record<string, Readonly<Record<string, number>>>>;

/**
 * Reads the lag of every group with a commit or members, over all partitions.
 *
 * A partition without a commit counts from its beginning, where the group would start. So does a
 * whole topic without a commit, while the group has members.
 */
export async function readLag(admin: Admin): Promise<Lag> {
  const { groups } = await admin.listGroups();
  const ids = groups.map(({ groupId }) => groupId).filter((id) => !id.startsWith(READER_GROUP_PREFIX));
  const ends = new Map<string, ReturnType<typeof readTopicOffsets>>();
  const endsOf = (topic: string) => {
    const known = ends.get(topic) ?? readTopicOffsets(admin, topic);
    ends.set(topic, known);
    return known;
  };
  const subscriptions = await readSubscriptions(admin, ids);
  const lag: Record<string, Record<string, number>> = {};
  for (const groupId of ids.sort()) {
    const byTopic: Record<string, number> = {};
    const subscribed = subscriptions.get(groupId) ?? [];
    const committed = await admin.fetchOffsets({ groupId });
    const known = new Set(committed.map(({ topic }) => topic));
    const untouched = subscribed.filter((topic) => !known.has(topic));
    const rest = untouched.length > 0 ? await admin.fetchOffsets({ groupId, topics: untouched }) : [];
    for (const { topic, partitions } of [...committed, ...rest]) {
      byTopic[topic] = uncommittedOf(await endsOf(topic), partitions);
    }
    lag[groupId] = byTopic;
  }
  return lag;
}

/** The records of a topic that a group has not committed. The broker lists only partitions with a
 * commit, unless the request names each partition. */
const uncommittedOf = (ends: PartitionOffsets, commits: Commits): number =>
  positionsOf(ends, commits).reduce((sum, { lag }) => sum + lag, 0);

type Commits = readonly { readonly partition: number; readonly offset: string }[];

/** Where a group is in a partition. */
export type Position = {
  readonly partition: number;
  /** The offset of the next record to be written. */
  readonly end: number;
  /** The offset of the first unfinished record; without a commit the group begins at the first
   * record. */
  readonly committed: number;
  readonly lag: number;
};

export function positionsOf(ends: PartitionOffsets, commits: Commits): Position[] {
  const offsets = new Map(commits.map(({ partition, offset }) => [partition, Number(offset)]));
  return [...ends].map(([partition, { low, high: end }]) => {
    const committed = Math.max(offsets.get(partition) ?? low, low);
    return { partition, end, committed, lag: Math.max(0, end - committed) };
  });
}

/** The topics that each group's members subscribe to. */
async function readSubscriptions(admin: Admin, groupIds: string[]): Promise<Map<string, string[]>> {
  if (groupIds.length === 0) return new Map();
  const { groups } = await admin.describeGroups(groupIds);
  return new Map(
    groups.map(({ groupId, members }) => [
      groupId,
      [...new Set(members.flatMap(({ memberMetadata }) => topicsIn(memberMetadata)))],
    ]),
  );
}

/** During a rebalance the broker does not tell the members' subscriptions. */
const topicsIn = (memberMetadata: Buffer): readonly string[] =>
  memberMetadata.length === 0 ? [] : (AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics ?? []);

const CAUGHT_UP_POLL_MS = 200;

/** Whether a group finishes, within a bound, every record that a topic has now. */
export async function catchesUp(
  admin: Pick<Admin, 'fetchOffsets' | 'fetchTopicMetadata' | 'fetchTopicOffsets'>,
  groupId: string,
  topic: string,
  boundMs: number,
): Promise<boolean> {
  const ends = await readTopicOffsets(admin, topic);
  for (const beganMs = performance.now(); ; await delay(CAUGHT_UP_POLL_MS)) {
    const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const isFinished = uncommittedOf(ends, found?.partitions ?? []) === 0;
    if (isFinished || performance.now() - beganMs > boundMs) return isFinished;
  }
}
