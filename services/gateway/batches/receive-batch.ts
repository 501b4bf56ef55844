import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describeJsonError, isJsonType, isTypeInUtf8 } from '#shared/http/read-json-body.ts';
import { splitLines } from '../domain/split-lines.ts';
import { Problem } from '../problem.ts';
import { type BatchCollector, type CollectedBatch, RULES_BYTES_MAX } from './collect-batch.ts';

const JSON_BYTES_MAX = 2 * 1024 * 1024;
const NDJSON_BYTES_MAX = 16 * 1024 * 1024;
const LINE_BYTES_MAX = 8 * 1024;
/** The first line of NDJSON holds the rules: these, as the client may write them, and the other members. */
const HEAD_BYTES_MAX = 2 * RULES_BYTES_MAX;
/**
 * How long entries are validated before other requests have their turn: a sync check crosses the event loop several times,
 * and waits for a slice at each.
 */
const SLICE_MS_MAX = 2;

const NDJSON = /^application\/(?:x-)?ndjson$/;

/** How the body of a batch is written. */
export type BatchFormat = 'json' | 'ndjson';

/**
 * The format of a batch's body, by its headers.
 *
 * @throws Problem `media-type-unsupported`
 */
export function formatOf({ headers }: IncomingMessage): BatchFormat {
  const type = headers['content-type'] ?? '';
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    throw new Problem('media-type-unsupported', 'Send the body without a content-encoding.');
  if (isJsonType(type)) return 'json';
  if (isTypeInUtf8(type, NDJSON)) return 'ndjson';
  throw new Problem('media-type-unsupported', 'Send application/json or application/x-ndjson in UTF-8.');
}

/**
 * Receives a batch: parses its body as it arrives and hands head and entries to the collector. Other requests have
 * their turn every few milliseconds.
 *
 * @throws Problem `malformed-json`, `body-too-large`, and the errors of the collector and the chunks
 * @example
 * const batch = await receiveBatch('ndjson', body.chunks, collectBatch({ validateHead, entriesMax }));
 */
export async function receiveBatch(
  format: BatchFormat,
  chunks: AsyncIterable<Buffer>,
  collector: BatchCollector,
): Promise<CollectedBatch> {
  if (format === 'json') await receiveJson(chunks, collector);
  else await receiveLines(chunks, collector);
  return collector.end();
}

async function receiveJson(chunks: AsyncIterable<Buffer>, collector: BatchCollector): Promise<void> {
  const body = parseJsonBytes(await join(chunks), 'The body');
  const hasEntries = typeof body === 'object' && body !== null && !Array.isArray(body);
  const { entries, ...head } = hasEntries ? (body as { readonly entries?: unknown }) : {};
  await collector.begin(hasEntries ? head : body);
  if (!hasEntries) return;
  if (!Array.isArray(entries)) {
    const isMissing = entries === undefined;
    collector.refuse({
      pointer: '/entries',
      code: isMissing ? 'required' : 'wrong-type',
      detail: isMissing ? '/entries is required.' : '/entries must be a list of entries.',
    });
    return;
  }
  const giveWay = makeGiveWay();
  for (const entry of entries) {
    collector.add(entry);
    const pause = giveWay();
    if (pause) await pause;
  }
}

async function join(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > JSON_BYTES_MAX)
      throw new Problem(
        'body-too-large',
        `A JSON body must have at most ${JSON_BYTES_MAX} bytes; send a larger batch as application/x-ndjson.`,
      );
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

async function receiveLines(chunks: AsyncIterable<Buffer>, collector: BatchCollector): Promise<void> {
  const lines = splitLines((index) => (index === 0 ? HEAD_BYTES_MAX : LINE_BYTES_MAX), lineTooLong);
  const giveWay = makeGiveWay();
  let [lineCount, length] = [0, 0];
  const take = (line: Buffer): void | Promise<void> => {
    lineCount += 1;
    const value = parseJsonBytes(line, `Line ${lineCount}`);
    return lineCount > 1 ? collector.add(value) : beginWithLine(value, collector);
  };
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > NDJSON_BYTES_MAX)
      throw new Problem('body-too-large', `The body must have at most ${NDJSON_BYTES_MAX} bytes.`);
    for (const line of lines.push(chunk)) {
      const pause = take(line) ?? giveWay();
      if (pause) await pause;
    }
  }
  const last = lines.end();
  if (last) await take(last);
  if (lineCount === 0) throw new Problem('malformed-json', 'The body is empty; send a JSON object.');
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

/** @throws Problem `malformed-json`, naming the line or body that is not JSON */
export function parseJsonBytes(bytes: Buffer, subject: string): unknown {
  if (bytes.length === 0) throw new Problem('malformed-json', `${subject} is empty; send JSON.`);
  if (!isUtf8(bytes)) throw new Problem('malformed-json', `${subject} is not UTF-8.`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new Problem('malformed-json', describeJsonError(subject, error));
  }
}

const lineTooLong = (index: number): Problem =>
  new Problem(
    'body-too-large',
    `Line ${index + 1} has more than ${index === 0 ? HEAD_BYTES_MAX : LINE_BYTES_MAX} bytes.`,
  );

/** Resolves at once, or in the next tick of the event loop if this one has lasted long. */
function makeGiveWay(): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < SLICE_MS_MAX) return undefined;
    return nextTick().then(() => {
      startedAt = performance.now();
    });
  };
}
