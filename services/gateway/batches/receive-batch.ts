import type { BatchCollector } from './collect-batch.ts';
import {
  type BodyFormat,
  JSON_BYTES_MAX,
  LINE_BYTES_MAX,
  receiveJson,
  receiveLines,
  takeEach,
} from './receive-values.ts';

/**
 * Receives a batch: parses its body as it arrives and hands head and entries to the collector.
 * Other requests have their turn every few milliseconds.
 *
 * @throws Problem `malformed-json`, `body-too-large`, and the errors of the collector and the
 *   chunks
 * @example
 * const batch = await receiveBatch('ndjson', body.chunks, collectBatch({ validateHead, entriesMax }));
 */
export async function receiveBatch(
  format: BodyFormat,
  chunks: AsyncIterable<Buffer>,
  collector: BatchCollector,
): Promise<ReturnType<BatchCollector['end']>> {
  if (format === 'json') await collectJson(await receiveJson(chunks), collector);
  else
    await receiveLines(
      chunks,
      // The first line has the rules: they may be written as in JSON, and are refused as there.
      (index) => (index === 0 ? JSON_BYTES_MAX : LINE_BYTES_MAX),
      (value, index) => (index > 0 ? collector.add(value) : beginWithLine(value, collector)),
    );
  return collector.end();
}

async function collectJson(body: unknown, collector: BatchCollector): Promise<void> {
  const hasEntries = typeof body === 'object' && body !== null && !Array.isArray(body);
  const { entries, ...head } = hasEntries ? (body as { readonly entries?: unknown }) : {};
  await collector.begin(hasEntries ? head : body);
  if (!hasEntries) return;
  if (Array.isArray(entries)) return takeEach(entries, collector.add);
  const isMissing = entries === undefined;
  collector.refuse({
    pointer: '/entries',
    code: isMissing ? 'required' : 'wrong-type',
    detail: isMissing ? '/entries is required.' : '/entries must be a list of entries.',
  });
}

async function beginWithLine(head: unknown, collector: BatchCollector): Promise<void> {
  await collector.begin(head);
  if (typeof head === 'object' && head !== null && 'entries' in head)
    collector.refuse({
      pointer: '/entries',
      code: 'not-allowed',
      detail: '/entries is not allowed in the first line of NDJSON: every further line is an entry.',
    });
}
