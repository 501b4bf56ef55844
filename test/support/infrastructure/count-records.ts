import type { Admin } from 'kafkajs';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';

/** How many records the topics have ever had, including expired ones. */
export async function countRecords(
  admin: Admin,
  topics: readonly Pick<TopicSpec, 'name'>[],
): Promise<number> {
  const offsets = await Promise.all(topics.map(({ name }) => readTopicOffsets(admin, name)));
  return offsets.flatMap((ofTopic) => [...ofTopic.values()]).reduce((sum, { high }) => sum + high, 0);
}
