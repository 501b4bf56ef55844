import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTick } from 'node:timers/promises';
import { describeJsonError, isJsonType, isTypeInUtf8 } from '#shared/http/read-json-body.ts';
import { splitLines } from '../domain/split-lines.ts';
import { Problem } from '../problem.ts';

/** A JSON body is parsed in one go: for its time the gateway does nothing else. */
export const JSON_BYTES_MAX = 2 * 1024 * 1024;
const NDJSON_BYTES_MAX = 16 * 1024 * 1024;
/** An entry of a batch, or a change of a member. */
export const LINE_BYTES_MAX = 8 * 1024;
/**
 * How long values are taken before other requests have their turn: a sync check crosses the event loop several times,
 * and waits for a slice at each.
 */
const SLICE_MS_MAX = 2;

const NDJSON = /^application\/(?:x-)?ndjson$/;

/** How a body of many values is written. */
export type BodyFormat = 'json' | 'ndjson';

/**
 * The format of a body of many values, by its headers. A body that is surely empty needs no type.
 *
 * @throws Problem `media-type-unsupported`, `malformed-json`
 */
export function formatOf({ headers }: IncomingMessage): BodyFormat {
  const type = headers['content-type'];
  const isEmpty = headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0);
  if (isEmpty && type === undefined) throw emptyBody();
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity')
    throw new Problem('media-type-unsupported', 'Send the body without a content-encoding.');
  if (isJsonType(type ?? '')) return 'json';
  if (isTypeInUtf8(type ?? '', NDJSON)) return 'ndjson';
  throw new Problem('media-type-unsupported', 'Send application/json or application/x-ndjson in UTF-8.');
}

/**
 * Receives a JSON body of at most 2 MiB.
 *
 * @throws Problem `malformed-json`, `body-too-large`
 */
export async function receiveJson(chunks: AsyncIterable<Buffer>): Promise<unknown> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > JSON_BYTES_MAX)
      throw new Problem(
        'body-too-large',
        `A JSON body must have at most ${JSON_BYTES_MAX} bytes; send a larger one as application/x-ndjson.`,
      );
    parts.push(chunk);
  }
  return parseJsonBytes(Buffer.concat(parts), 'The body');
}

/** Takes a value at a place, from 0. */
type Take = (value: unknown, index: number) => void | Promise<void>;

/** Takes the values of a list. Other requests have their turn every few milliseconds. */
export async function takeEach(values: readonly unknown[], take: Take): Promise<void> {
  const giveWay = makeGiveWay();
  for (const [index, value] of values.entries()) {
    const pause = take(value, index) ?? giveWay();
    if (pause) await pause;
  }
}

/**
 * Receives NDJSON of at most 16 MiB and takes each line's value as it arrives. Other requests have their turn every few
 * milliseconds.
 *
 * @param bytesMaxOf most bytes of the line at an index, from 0
 * @throws Problem `malformed-json`, `body-too-large`, and the errors of `take`
 * @example
 * await receiveLines(body.chunks, () => LINE_BYTES_MAX, (value) => collector.add(value));
 */
export async function receiveLines(
  chunks: AsyncIterable<Buffer>,
  bytesMaxOf: (index: number) => number,
  take: Take,
): Promise<void> {
  const lines = splitLines(
    bytesMaxOf,
    (index) => new Problem('body-too-large', `Line ${index + 1} has more than ${bytesMaxOf(index)} bytes.`),
  );
  const giveWay = makeGiveWay();
  let [index, length] = [0, 0];
  const takeLine = (line: Buffer): void | Promise<void> => {
    const place = index;
    index += 1;
    return take(parseJsonBytes(line, `Line ${index}`), place);
  };
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > NDJSON_BYTES_MAX)
      throw new Problem('body-too-large', `The body must have at most ${NDJSON_BYTES_MAX} bytes.`);
    for (const line of lines.push(chunk)) {
      const pause = takeLine(line) ?? giveWay();
      if (pause) await pause;
    }
  }
  const last = lines.end();
  if (last) await takeLine(last);
  if (index === 0) throw emptyBody();
}

/** @throws Problem `malformed-json`, naming the line or body that is not JSON */
function parseJsonBytes(bytes: Buffer, subject: string): unknown {
  if (bytes.length === 0) throw new Problem('malformed-json', `${subject} is empty; send JSON.`);
  if (!isUtf8(bytes)) throw new Problem('malformed-json', `${subject} is not UTF-8.`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new Problem('malformed-json', describeJsonError(subject, error));
  }
}

const emptyBody = (): Problem => new Problem('malformed-json', 'The body is empty; send JSON.');

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
