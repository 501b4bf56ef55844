import type { KafkaMessage } from 'kafkajs';
import { readLag } from '#shared/kafka/lag.ts';
import type { OpenSystem } from '../../services/developer-portal/admin/open-system.ts';
import { waitUntil } from './wait-until.ts';

/** The record of a key in a topic; the newest if there are several. */
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

/** Returns when a group has finished everything in a topic: what it was to do is done, and what it did not do it never will. */
export async function waitUntilWorked(
  { kafka }: Pick<OpenSystem, 'kafka'>,
  groupId: string,
  topic: string,
): Promise<void> {
  await waitUntil(`${groupId} to have worked ${topic}`, async () => {
    const lag = await readLag(kafka.admin);
    return lag[groupId]?.[topic] === 0;
  });
}
