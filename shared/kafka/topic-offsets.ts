import type { Admin } from 'kafkajs';
import { retry } from '../wait-for.ts';

export type PartitionOffsets = ReadonlyMap<number, { readonly low: number; readonly high: number }>;

export const byPartition = (offsets: Awaited<ReturnType<Admin['fetchTopicOffsets']>>): PartitionOffsets =>
  new Map(offsets.map(({ partition, low, high }) => [partition, { low: Number(low), high: Number(high) }]));

/** 30 s: a busy machine took more than 3 s to elect the leaders of 260 new partitions. */
const TRIES_MAX = 300;
const RETRY_MS = 100;

/**
 * Reads where each partition of a topic begins (`low`) and ends (`high`, the next offset to be
 * written).
 *
 * Retries while a partition has no leader, as just after a topic's creation and during a change of
 * leader: kafkajs's own call fails at once then.
 */
export function readTopicOffsets(
  admin: Pick<Admin, 'fetchTopicMetadata' | 'fetchTopicOffsets'>,
  topic: string,
): Promise<PartitionOffsets> {
  let tries = 0;
  const read = async (): Promise<PartitionOffsets> => {
    // Makes kafkajs forget the leaders that it knows.
    if (++tries > 1) await admin.fetchTopicMetadata({ topics: [topic] });
    return byPartition(await admin.fetchTopicOffsets(topic));
  };
  // If no partition has a leader, kafkajs throws a TypeError on the empty answer.
  const mayRetry = (error: unknown) => error instanceof TypeError || isRetriableByBroker(error);
  return retry(read, { delayMs: RETRY_MS, triesMax: TRIES_MAX, mayRetry });
}

/** Whether kafkajs says that a request may be sent again. */
export const isRetriableByBroker = (error: unknown): boolean =>
  (error as { readonly retriable?: boolean }).retriable === true;

/** Of each partition the offset of the first record that was stamped at `atMs` or later; its end
 * where there is none. */
export async function readOffsetsAt(admin: Admin, topic: string, atMs: number): Promise<Map<number, number>> {
  const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, atMs);
  return new Map(offsets.map(({ partition, offset }) => [partition, Number(offset)]));
}
