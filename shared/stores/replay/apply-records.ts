import { erasesDocument, parseMessage, type Topic } from '#shared/contracts/topic.ts';
import { isRetriable } from '#shared/errors.ts';
import type { TopicRecord } from '#shared/kafka/read-topic.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { keepNewest } from '../documents/versioned-documents.ts';

/** Records applied at once, and their bytes. Their commands share a round trip. */
const APPLY_BATCH_MAX = 500;
const APPLY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Applies records in order: sent together and answered together, since one connection keeps their
 * order. An unreadable record was dead-lettered by its consumer and is passed over here. So is one
 * that erases a document: its tombstone is before it as long as any record of it is, and the view
 * drops that again.
 *
 * Of the records of one document that come together the newest alone is applied, as if compaction had
 * dropped the others: they cost their reading, however often somebody changes one document.
 */
export async function applyRecords<M>(
  topic: Topic<M>,
  records: readonly Pick<TopicRecord, 'value' | 'offset'>[],
  apply: (message: M) => Promise<unknown>,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  const skip = (error: unknown, offset: string): void => {
    if (isRetriable(error)) throw error;
    log.warn({ topic: topic.name, offset }, 'record skipped in a replay');
  };
  for (let next = 0; next < records.length; ) {
    const end = endOfBatch(records, next);
    const batch: Parsed<M>[] = [];
    for (const { value, offset } of records.slice(next, end))
      try {
        if (!erasesDocument(topic, value)) batch.push({ message: parseMessage(topic, value), offset });
      } catch (error) {
        skip(error, offset);
      }
    await Promise.all(
      [...newestOf(topic, batch)].map(async ({ message, offset }) => {
        try {
          await apply(message);
        } catch (error) {
          skip(error, offset);
        }
      }),
    );
    next = end;
  }
}

type Parsed<M> = { readonly message: M; readonly offset: string };

/** Of each document the newest version. The records of other topics are no versions of a document:
 * all of them. */
function newestOf<M>(topic: Topic<M>, batch: readonly Parsed<M>[]): Iterable<Parsed<M>> {
  if (topic.cleanup !== 'compact') return batch;
  const newest = new Map<string, Parsed<M> & { readonly version: number }>();
  for (const parsed of batch) {
    const { version } = parsed.message as { readonly version: number };
    keepNewest(newest, topic.keyOf(parsed.message), { ...parsed, version });
  }
  return newest.values();
}

/** The index after the last record that is applied together with the first. */
function endOfBatch(records: readonly Pick<TopicRecord, 'value'>[], first: number): number {
  let bytes = 0;
  for (let end = first; end < records.length; end++) {
    bytes += records[end]?.value?.length ?? 0;
    if (end > first && (bytes > APPLY_BYTES_MAX || end - first >= APPLY_BATCH_MAX)) return end;
  }
  return records.length;
}
