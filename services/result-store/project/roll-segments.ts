import type { TopicSpec } from '#shared/contracts/topic.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';

/** No document has it: ids have prefixes. */
const KEY = 'roll';

/**
 * Writes an empty record to each partition of compacted topics. A broker never compacts the segment
 * that it writes to, and ends one that is old enough at the next write only: without this, what was
 * superseded would stay where nobody writes any more.
 */
export async function rollSegments(
  kafka: Pick<KafkaConnection, 'publishRecord'>,
  topics: readonly Pick<TopicSpec, 'name' | 'partitionCount'>[],
): Promise<void> {
  for (const { name, partitionCount } of topics)
    for (let partition = 0; partition < partitionCount; partition++)
      await kafka.publishRecord(name, { key: KEY, value: null, partition });
}
