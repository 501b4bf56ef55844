import type { Admin, KafkaMessage } from 'kafkajs';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { readLag } from '#shared/kafka/lag.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';
import type { OpenSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { waitUntil } from '../wait-until.ts';

/** The newest record of a key in a topic. */
export async function findRecord(
  { kafka }: Pick<OpenSystem, 'kafka'>,
  topic: string,
  key: string,
): Promise<KafkaMessage> {
  let found: KafkaMessage | undefined;
  await kafka.readTopic({
    topic,
    apply: async (records) => {
      found = records.findLast((record) => record.key?.toString() === key) ?? found;
    },
  });
  if (!found) throw new Error(`${topic} has no record of ${key}`);
  return found;
}

/** Returns when a group has finished every record of a topic: no further effect of them will
 * come. */
export async function waitUntilProcessed(
  { kafka }: Pick<OpenSystem, 'kafka'>,
  groupId: string,
  topic: string,
): Promise<void> {
  await waitUntil(`${groupId} to have processed ${topic}`, async () => {
    const lag = await readLag(kafka.admin, { [groupId]: [{ name: topic }] });
    return lag[groupId]?.[topic] === 0;
  });
}

/** How many records the topics have ever had, including expired ones. */
export async function countRecords(
  admin: Admin,
  topics: readonly Pick<TopicSpec, 'name'>[],
): Promise<number> {
  const offsets = await Promise.all(topics.map(({ name }) => readTopicOffsets(admin, name)));
  return offsets.flatMap((ofTopic) => [...ofTopic.values()]).reduce((sum, { high }) => sum + high, 0);
}
