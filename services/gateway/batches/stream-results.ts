import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { ServiceError } from '#shared/errors.ts';
import { FairShares } from '#shared/fair-shares.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Batches } from '#shared/redis/batches.ts';
import { acceptsGzip } from '../domain/accepts-gzip.ts';
import { begin, type Headers, type Request, type Response } from '../exchange.ts';
import { Problem } from '../problem.ts';

/** Results being sent at once, of all client apps: each holds a part of up to 3 MiB. */
const STREAMS_MAX = 64;
/** A client that takes nothing for so long, or takes longer in all, is cut off. */
const STALL_MS_MAX = 30_000;
const STREAM_MS_MAX = 120_000;
/** More than a part's results can have. */
const PART_BYTES_MAX = 16 * 1024 * 1024;
/** The cheapest level: lines repeat themselves so much that more gains little. */
const GZIP_LEVEL = 1;
const LINE_FEED = 0x0a;

export type ResultRange = {
  readonly clientId: string;
  readonly requestId: string;
  /** Place of the first entry. */
  readonly from: number;
  /** Place behind the last entry; all of them are finished. */
  readonly to: number;
};

export type StreamResults = (
  range: ResultRange,
  request: Request,
  response: Response,
  headers: Headers,
) => Promise<void>;

export type StreamBounds = {
  readonly streamsMax: number;
  readonly stallMsMax: number;
  readonly streamMsMax: number;
};

const BOUNDS = { streamsMax: STREAMS_MAX, stallMsMax: STALL_MS_MAX, streamMsMax: STREAM_MS_MAX };

/**
 * Sends results as NDJSON, one stored part after the other: memory holds one of them, however slowly the client reads.
 *
 * An answer that cannot be finished is cut, so that nobody takes half for whole.
 *
 * @throws Problem `overloaded` while too many results are being sent
 */
export function makeStreamResults(
  batches: Pick<Batches, 'readPart'>,
  { streamsMax, stallMsMax, streamMsMax }: StreamBounds = BOUNDS,
): StreamResults {
  const shares = new FairShares(streamsMax);
  return async function streamResults(range, request, response, headers) {
    if (!shares.take(range.clientId))
      throw new Problem('overloaded', 'Too many results of this client app are being sent.', {
        headers: retryAfter(1_000),
      });
    const cut = () => response.destroy();
    const timer = setTimeout(cut, streamMsMax);
    response.setTimeout(stallMsMax, cut);
    try {
      const isGzip = acceptsGzip(request.headers['accept-encoding']);
      begin(response, 200, 'application/x-ndjson', {
        vary: 'accept-encoding',
        ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
        ...headers,
      });
      const lines = Readable.from(linesOf(batches, range), { highWaterMark: 1 });
      // A client that went away, or was cut off, has no answer to finish.
      await (isGzip
        ? pipeline(lines, createGzip({ level: GZIP_LEVEL }), response)
        : pipeline(lines, response)
      ).catch((error: unknown) => {
        if (!response.destroyed || error instanceof ServiceError) throw error;
      });
    } finally {
      clearTimeout(timer);
      response.setTimeout(0);
      shares.give(range.clientId);
    }
  };
}

/** The lines of the entries, part by part. @throws ServiceError `store-unavailable` if a part is gone */
async function* linesOf(
  { readPart }: Pick<Batches, 'readPart'>,
  { requestId, from, to }: ResultRange,
): AsyncGenerator<Buffer, void> {
  for (let index = from; index < to; ) {
    const part = await readPart(requestId, index);
    if (!part) throw new ServiceError('store-unavailable', 'a part of the results is gone');
    const lines = await promisify(gunzip)(part.gzip, { maxOutputLength: PART_BYTES_MAX });
    const end = Math.min(to, part.firstIndex + part.lineCount);
    yield sliceLines(lines, index - part.firstIndex, end - part.firstIndex);
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
