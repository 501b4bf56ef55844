import { parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { isRetriable } from '#shared/errors.ts';
import type { TopicRecord } from '#shared/kafka/read-topic.ts';
import type { Logger } from '#shared/telemetry/log.ts';

/** Records applied at once, and their bytes. Their commands share a round trip. */
const APPLY_BATCH_MAX = 500;
const APPLY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Applies records in order: sent together and answered together, since one connection keeps their order.
 * An unreadable record was dead-lettered by its consumer and is passed over here.
 */
export async function applyRecords<M>(
  topic: Topic<M>,
  records: readonly TopicRecord[],
  apply: (message: M) => Promise<unknown>,
  log: Logger,
): Promise<void> {
  for (let next = 0; next < records.length; ) {
    const end = endOfBatch(records, next);
    const batch = records.slice(next, end).map(async ({ value, offset }) => {
      try {
        await apply(parseMessage(topic, value));
      } catch (error) {
        if (isRetriable(error)) throw error;
        log.warn({ topic: topic.name, offset }, 'record skipped in a rebuild');
      }
    });
    await Promise.all(batch);
    next = end;
  }
}

/** The index after the last record that is applied together with the first. */
function endOfBatch(records: readonly TopicRecord[], first: number): number {
  let bytes = 0;
  for (let end = first; end < records.length; end++) {
    bytes += records[end]?.value?.length ?? 0;
    if (end > first && (bytes > APPLY_BYTES_MAX || end - first >= APPLY_BATCH_MAX)) return end;
  }
  return records.length;
}
