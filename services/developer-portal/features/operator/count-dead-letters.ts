import { LRUCache } from 'lru-cache';
import { deadLetterSpecOf } from '#shared/contracts/topic.ts';
import { SOURCE_TOPICS } from '#shared/contracts/topics.ts';
import { ServiceError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { listDeadLetters } from '#shared/kafka/dead-letters.ts';
import { readTopicOffsets } from '#shared/kafka/topic-offsets.ts';
import { unlessAborted } from '#shared/wait-for.ts';

/** How long a count is cached: counting reads every dead-letter topic. */
const CACHE_MS = 10_000;
/** A browser waits longer than this. */
const COUNT_TIMEOUT_MS = 10_000;

type CountDeadLetters = () => Promise<{ topic: string; count: number }[]>;

type Kafka = Pick<KafkaConnection, 'admin' | 'readTopic' | 'publishRecord'>;

/**
 * Counts unsettled dead-lettered records by source topic; topics without any are omitted. Callers
 * share one count, even if it takes longer than they wait.
 *
 * @param monotonicMs a monotonic clock
 * @param timeoutMs how long a caller waits
 * @throws ServiceError `broker-unavailable` after `timeoutMs`
 */
export function makeCountDeadLetters(
  kafka: Kafka,
  monotonicMs: () => number,
  timeoutMs = COUNT_TIMEOUT_MS,
): CountDeadLetters {
  const counts = new LRUCache<'all', Awaited<ReturnType<CountDeadLetters>>>({
    max: 1,
    ttl: CACHE_MS,
    ttlResolution: 0,
    perf: { now: monotonicMs },
    fetchMethod: () => countAll(kafka),
  });
  return async () => {
    const expired = AbortSignal.timeout(timeoutMs);
    try {
      return (await unlessAborted(counts.fetch('all'), expired)) ?? [];
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
