import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { ServiceError } from '#shared/errors.ts';
import type { Batches } from './batches.ts';

/** More than a part's results can have. */
const PART_BYTES_MAX = 16 * 1024 * 1024;
/** Node's own chunks of 16 KiB make 200 of a part: each is garbage, and waits for the event
 * loop. */
const UNZIP = { maxOutputLength: PART_BYTES_MAX, chunkSize: 256 * 1024 };
const LINE_FEED = 0x0a;

export type LineRange = {
  readonly requestId: string;
  /** Place of the first entry. */
  readonly from: number;
  /** Place behind the last entry; all of them are finished. */
  readonly to: number;
};

/**
 * The result lines of a batch's entries, part by part, each ending with a line feed: memory holds
 * one part.
 *
 * @param inTurn runs the reading of a part, which costs the CPU some 10 ms; default: at once
 * @throws ServiceError `store-unavailable` if a part is gone
 */
export async function* readBatchLines(
  { readPart }: Pick<Batches, 'readPart'>,
  { requestId, from, to }: LineRange,
  inTurn: <T>(read: () => Promise<T>) => Promise<T> = (read) => read(),
): AsyncGenerator<Buffer, void> {
  for (let index = from; index < to; ) {
    const { lines, end } = await inTurn(async () => {
      const part = await readPart(requestId, index);
      if (!part) throw new ServiceError('store-unavailable', 'a part of the results is gone');
      const text = await promisify(gunzip)(part.gzip, UNZIP);
      const end = Math.min(to, part.firstIndex + part.lineCount);
      return { lines: sliceLines(text, index - part.firstIndex, end - part.firstIndex), end };
    });
    yield lines;
    index = end;
  }
}

/**
 * Lines of a text in which every line ends with a line feed.
 *
 * @param first index of the first line
 * @param end index behind the last line
 */
export function sliceLines(text: Buffer, first: number, end: number): Buffer {
  let [index, from] = [0, 0];
  for (; index < first; index += 1) from = text.indexOf(LINE_FEED, from) + 1;
  let to = from;
  for (; index < end; index += 1) {
    const feed = text.indexOf(LINE_FEED, to);
    if (feed < 0) return text.subarray(from);
    to = feed + 1;
  }
  return text.subarray(from, to);
}
