import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTick } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { ServiceError } from '#shared/errors.ts';

/** What is written in one tick of the event loop: the kernel copies it meanwhile. */
const SLICE_BYTES_MAX = 256 * 1024;
/** The cheapest level: lines repeat themselves so much that more gains little. */
const GZIP_LEVEL = 1;

export type StreamTimes = {
  /** A client that reads nothing for this long is cut off. */
  readonly stallMsMax: number;
  /** A client that takes longer than this in total is cut off too. */
  readonly streamMsMax: number;
};

type StreamToSend = StreamTimes & {
  readonly isGzip: boolean;
  /** Writes the headers. It is called once the first piece is there: a failure before is still
   * answered as a problem. */
  readonly begin: () => void;
};

/**
 * Sends an answer piece by piece: memory holds one piece, however slowly the client reads. An
 * answer that cannot be finished is cut, so that no client takes it for complete.
 *
 * @throws whatever the first piece throws; nothing is sent then
 */
export async function sendStream(
  response: ServerResponse,
  pieces: AsyncIterator<Buffer>,
  { isGzip, begin, stallMsMax, streamMsMax }: StreamToSend,
): Promise<void> {
  const first = await pieces.next();
  begin();
  const cut = () => response.destroy();
  const timer = setTimeout(cut, streamMsMax);
  response.setTimeout(stallMsMax, cut);
  try {
    const body = Readable.from(inSlices(first, pieces), { highWaterMark: 1 });
    // A client that went away, or was cut off, has no answer to finish.
    await (isGzip
      ? pipeline(body, createGzip({ level: GZIP_LEVEL }), response)
      : pipeline(body, response)
    ).catch((error: unknown) => {
      if (!response.destroyed || error instanceof ServiceError) throw error;
    });
  } finally {
    clearTimeout(timer);
    response.setTimeout(0);
  }
}

/** Other requests have their turn behind each slice. */
async function* inSlices(
  first: IteratorResult<Buffer>,
  pieces: AsyncIterator<Buffer>,
): AsyncGenerator<Buffer, void> {
  try {
    for (let next = first; !next.done; next = await pieces.next())
      for (let from = 0; from < next.value.length; from += SLICE_BYTES_MAX) {
        yield next.value.subarray(from, from + SLICE_BYTES_MAX);
        await nextTick();
      }
  } finally {
    await pieces.return?.();
  }
}
