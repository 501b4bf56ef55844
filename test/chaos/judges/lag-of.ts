import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';
import type { ChaosSystem } from '../system/chaos-system.ts';

/** Records of a topic that a group has not finished, by its commits. */
export async function lagOf({ open }: ChaosSystem, groupId: string, topic: string): Promise<number> {
  const { admin } = open.kafka;
  const [ends, committed] = await Promise.all([
    readTopicOffsets(admin, topic),
    admin.fetchOffsets({ groupId, topics: [topic] }),
  ]);
  const doneOf = new Map(
    committed[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]),
  );
  return [...ends].reduce(
    (sum, [partition, { low, high }]) => sum + high - Math.max(low, doneOf.get(partition) ?? 0),
    0,
  );
}
