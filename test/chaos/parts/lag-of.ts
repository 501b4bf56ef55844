import type { ChaosSystem } from '../chaos-system.ts';

/** Records of a topic that a group has not finished, as its commits tell. */
export async function lagOf({ open }: ChaosSystem, groupId: string, topic: string): Promise<number> {
  const { admin } = open.kafka;
  const [ends, committed] = await Promise.all([
    admin.fetchTopicOffsets(topic),
    admin.fetchOffsets({ groupId, topics: [topic] }),
  ]);
  const doneOf = new Map(
    committed[0]?.partitions.map(({ partition, offset }) => [partition, Number(offset)]),
  );
  return ends.reduce(
    (sum, { partition, low, high }) => sum + Number(high) - Math.max(Number(low), doneOf.get(partition) ?? 0),
    0,
  );
}
