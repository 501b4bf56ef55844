import { SOURCE_TOPICS } from '#shared/contracts/all-topics.ts';
import { deadLetterSpecOf } from '#shared/contracts/topic.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';

/** How long a count is cached: counting reads every dead-letter topic. */
const CACHE_MS = 10_000;

export type CountDeadLetters = () => Promise<{ topic: string; count: number }[]>;

type Kafka = Pick<KafkaConnection, 'admin' | 'readTopic' | 'publishRecord'>;

/**
 * Counts unsettled dead-lettered records by source topic; topics without any are omitted.
 *
 * @param monotonicMs a monotonic clock
 * @example
 * const count = makeCountDeadLetters(kafka, () => performance.now());
 */
export function makeCountDeadLetters(kafka: Kafka, monotonicMs: () => number): CountDeadLetters {
  let latest: { atMs: number; counts: ReturnType<CountDeadLetters> } | undefined;
  return () => {
    if (latest === undefined || monotonicMs() - latest.atMs > CACHE_MS) {
      const counts = countAll(kafka);
      const own = { atMs: monotonicMs(), counts };
      latest = own;
      // A failure is not cached; the current callers get the error.
      counts.catch(() => {
        if (latest === own) latest = undefined;
      });
    }
    return latest.counts;
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
