import type { IncomingMessage } from 'node:http';
import type { GiveWay } from '#shared/fairness/fair-ticks.ts';
import { isBlank, parseJson } from '#shared/http/parse-json.ts';
import { Problem } from '#shared/http/problem.ts';
import { isJsonType, isTypeInUtf8 } from '#shared/http/read-json-body.ts';

export const JSON_BYTES_MAX = 2 * 1024 * 1024;
export const NDJSON_BYTES_MAX = 16 * 1024 * 1024;
/** An entry of a batch, or a change of a member. */
export const LINE_BYTES_MAX = 8 * 1024;
/** One for each entry of the largest batch: a body of 16 MiB of them would cost the CPU seconds. */
const BLANK_LINES_MAX = 100_000;

const NDJSON = /^application\/(?:x-)?ndjson$/;

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

/** A body of many values as it arrives. */
export type Arriving = { readonly chunks: AsyncIterable<Buffer>; readonly giveWay: GiveWay };

/**
 * Receives a JSON body of at most 2 MiB. It is parsed in one go, in a turn of its own: the account
 * waits as long for its next one.
 *
 * @throws Problem `malformed-json`, `body-too-large`
 */
export async function receiveJson({ chunks, giveWay }: Arriving): Promise<unknown> {
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
  await giveWay();
  return parseJson(Buffer.concat(parts), 'The body');
}

/** Takes a value at a place, from 0. */
type Take = (value: unknown, index: number) => void | Promise<void>;

/** Takes the values of a list. Other requests have their turn every few milliseconds. */
export async function takeEach(values: readonly unknown[], take: Take, giveWay: GiveWay): Promise<void> {
  for (const [index, value] of values.entries()) {
    const pause = take(value, index) ?? giveWay();
    if (pause) await pause;
  }
}

/**
 * Receives NDJSON of at most 16 MiB and takes each line's value as it arrives. Blank lines are not
 * values: they count in the number of a line, not in the index of a value. Other requests have
 * their turn every few milliseconds.
 *
 * @param bytesMaxOf most bytes of the line of the value at an index, from 0
 * @throws Problem `malformed-json`, `body-too-large`, and the errors of `take`
 */
export async function receiveLines(
  { chunks, giveWay }: Arriving,
  bytesMaxOf: (index: number) => number,
  take: Take,
): Promise<void> {
  let [lineCount, valueCount, length] = [0, 0, 0];
  const lineBytesMax = () => bytesMaxOf(valueCount);
  const lines = splitLines(
    lineBytesMax,
    (index) => new Problem('body-too-large', `Line ${index + 1} has more than ${lineBytesMax()} bytes.`),
  );
  const takeLine = (line: Buffer): void | Promise<void> => {
    lineCount += 1;
    if (isBlank(line)) {
      if (lineCount - valueCount > BLANK_LINES_MAX) throw tooManyBlankLines();
      return;
    }
    const index = valueCount;
    valueCount += 1;
    return take(parseJson(line, `Line ${lineCount}`), index);
  };
  // Before, as the parsing is what takes the time: that of a first line of 2 MiB 10 to 30 ms.
  const takeInTurn = (line: Buffer): void | Promise<void> => {
    const pause = giveWay();
    return pause ? pause.then(() => takeLine(line)) : takeLine(line);
  };
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > NDJSON_BYTES_MAX)
      throw new Problem('body-too-large', `The body must have at most ${NDJSON_BYTES_MAX} bytes.`);
    for (const line of lines.push(chunk)) {
      const pause = takeInTurn(line);
      if (pause) await pause;
    }
  }
  const last = lines.end();
  if (last) await takeInTurn(last);
  if (valueCount === 0) throw emptyBody();
}

const tooManyBlankLines = (): Problem =>
  new Problem('malformed-json', `The body has more than ${BLANK_LINES_MAX} blank lines.`);

const emptyBody = (): Problem => new Problem('malformed-json', 'The body is empty; send JSON.');

const LINE_FEED = 0x0a;
/** Pieces of an unfinished line that are kept apart; more are joined, because each costs more
 * memory than its bytes. */
const PIECES_MAX = 64;

/**
 * Splits a text that arrives in chunks into lines. The result is the same however the text is cut
 * into chunks.
 *
 * @param bytesMaxOf most bytes of the line at an index, from 0
 * @param tooLong the error for a longer line; thrown as soon as its bytes exceed the bound
 * @example
 * const { push, end } = splitLines(() => 8_192, (index) => new Error(`line ${index + 1} is too long`));
 * [...push(Buffer.from('a\nb')), end()]; // the lines a and b
 */
export function splitLines(bytesMaxOf: (index: number) => number, tooLong: (index: number) => Error) {
  let pieces: Buffer[] = [];
  let byteCount = 0;
  let index = 0;
  const add = (piece: Buffer): void => {
    byteCount += piece.length;
    if (byteCount > bytesMaxOf(index)) throw tooLong(index);
    pieces.push(piece);
    if (pieces.length > PIECES_MAX) pieces = [Buffer.concat(pieces)];
  };
  const finish = (): Buffer => {
    const line = pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
    pieces = [];
    byteCount = 0;
    index += 1;
    return line;
  };
  return {
    /** The lines that this chunk finishes, without their line feeds. */
    *push(chunk: Buffer): Generator<Buffer, void> {
      let from = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
        add(chunk.subarray(from, at));
        from = at + 1;
        yield finish();
      }
      if (from < chunk.length) add(chunk.subarray(from));
    },
    /** The last line, if the text did not end with a line feed. */
    end: (): Buffer | undefined => (byteCount > 0 ? finish() : undefined),
  };
}
