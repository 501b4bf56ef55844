import { SOURCE_TOPICS } from '#shared/contracts/all-topics.ts';
import { deadLetterSpecOf } from '#shared/contracts/topic.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';

/** Whoever asks again within it gets the same count: it takes a look into every dead-letter topic. */
const KEPT_MS = 10_000;

export type CountDeadLetters = () => Promise<{ topic: string; count: number }[]>;

type Kafka = Pick<KafkaConnection, 'admin' | 'readTopic' | 'publishRecord'>;

/**
 * Counts the letters that nobody has dealt with, by source topic; topics without any are left out.
 *
 * @param nowMs a clock that only goes forward
 * @example
 * const count = makeCountDeadLetters(kafka, () => performance.now());
 */
export function makeCountDeadLetters(kafka: Kafka, nowMs: () => number): CountDeadLetters {
  let latest: { atMs: number; counts: ReturnType<CountDeadLetters> } | undefined;
  return () => {
    if (latest === undefined || nowMs() - latest.atMs > KEPT_MS) {
      const counts = countAll(kafka);
      const own = { atMs: nowMs(), counts };
      latest = own;
      // A failure is told to those who asked, and not kept.
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
