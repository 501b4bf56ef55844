import { deadLetterSpecOf } from '#shared/contracts/topic.ts';
import { SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';
import { unlessAborted } from '#shared/wait-for.ts';

/** A browser waits longer than this. */
const COUNT_TIMEOUT_MS = 10_000;

type Kafka = Pick<KafkaConnection, 'admin' | 'readTopic' | 'publishRecord'>;

/**
 * Counts unsettled dead-lettered records by source topic; topics without any are omitted. Counting
 * reads every dead-letter topic, so callers share the count that runs, also one that takes longer
 * than they wait.
 *
 * @param timeoutMs how long a caller waits
 * @throws ServiceError `broker-unavailable` after `timeoutMs`
 */
export function makeCountDeadLetters(kafka: Kafka, timeoutMs = COUNT_TIMEOUT_MS) {
  let running: ReturnType<typeof countAll> | undefined;
  return async () => {
    running ??= countAll(kafka).finally(() => {
      running = undefined;
    });
    const expired = AbortSignal.timeout(timeoutMs);
    try {
      return await unlessAborted(running, expired);
    } catch (error) {
      if (!expired.aborted) throw error;
      throw new ServiceError(
        'broker-unavailable',
        `the dead-lettered records were not counted within ${timeoutMs} ms`,
      );
    }
  };
}

async function countAll(kafka: Kafka): Promise<{ topic: string; count: number }[]> {
  const found: { topic: string; count: number }[] = [];
  for (const spec of SOURCE_TOPICS) {
    const offsets = await readTopicOffsets(kafka.admin, deadLetterSpecOf(spec).name);
    if ([...offsets.values()].every(({ low, high }) => low === high)) continue;
    const { length: count } = await listDeadLetters(kafka, spec.name);
    if (count > 0) found.push({ topic: spec.name, count });
  }
  return found;
}
