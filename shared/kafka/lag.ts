import { setTimeout as delay } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { TOPICS_OF_GROUPS } from '../contracts/consumer-groups.ts';
import type { TopicSpec } from '../contracts/topic.ts';
import { retry } from '../wait-for.ts';
import { isRetriableByBroker, type PartitionOffsets, readTopicOffsets } from './topic-offsets.ts';

/** While the group's coordinator changes: 5 s. */
const ASKED_AGAIN = { delayMs: 100, triesMax: 50, mayRetry: isRetriableByBroker } as const;

/** Uncommitted records, by consumer group and topic. */
type Lag = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Reads the lag of groups over all partitions of their topics. A partition without a commit counts
 * from its beginning, where the group would start. */
export async function readLag(
  admin: Pick<Admin, 'fetchOffsets' | 'fetchTopicMetadata' | 'fetchTopicOffsets'>,
  topicsOf: Readonly<Record<string, readonly Pick<TopicSpec, 'name'>[]>> = TOPICS_OF_GROUPS,
): Promise<Lag> {
  const lag: Record<string, Record<string, number>> = {};
  for (const [groupId, topics] of Object.entries(topicsOf)) {
    const byTopic: Record<string, number> = {};
    const asked = { groupId, topics: topics.map(({ name }) => name) };
    const committed = await retry(() => admin.fetchOffsets(asked), ASKED_AGAIN);
    for (const { topic, partitions } of committed)
      byTopic[topic] = uncommittedOf(await readTopicOffsets(admin, topic), partitions);
    lag[groupId] = byTopic;
  }
  return lag;
}

/** The records of a topic that a group has not committed. */
const uncommittedOf = (ends: PartitionOffsets, commits: Commits): number =>
  positionsOf(ends, commits).reduce((sum, { lag }) => sum + lag, 0);

type Commits = readonly { readonly partition: number; readonly offset: string }[];

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
