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

/**
 * Sends the body of an answer whose headers are written, piece by piece: memory holds one piece,
 * however slowly the client reads. An answer that cannot be finished is cut, so that no client
 * takes it for complete.
 */
export async function sendStream(
  response: ServerResponse,
  pieces: AsyncIterable<Buffer>,
  { isGzip, stallMsMax, streamMsMax }: StreamTimes & { readonly isGzip: boolean },
): Promise<void> {
  const cut = () => response.destroy();
  const timer = setTimeout(cut, streamMsMax);
  response.setTimeout(stallMsMax, cut);
  try {
    const body = Readable.from(inSlices(pieces), { highWaterMark: 1 });
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
async function* inSlices(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  for await (const piece of pieces)
    for (let from = 0; from < piece.length; from += SLICE_BYTES_MAX) {
      yield piece.subarray(from, from + SLICE_BYTES_MAX);
      await nextTick();
    }
}
