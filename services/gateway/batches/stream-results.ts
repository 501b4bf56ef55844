import { type AppOwner, FairShares } from '#shared/fairness/fair-shares.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { overloaded } from '#shared/http/problem.ts';
import { type StreamTimes, sendStream } from '#shared/http/send-stream.ts';
import { type LineRange, readBatchLines } from '#shared/stores/batches/batch-lines.ts';
import type { Batches } from '#shared/stores/batches/batches.ts';
import { begin, type Headers, type Request, type Response } from '../edge/exchange.ts';

/** Results being sent at once, of all client apps: each holds a part of up to 3 MiB. */
export const STREAMS_MAX = 64;
const STALL_MS_MAX = 30_000;
const STREAM_MS_MAX = 120_000;

export type StreamResults = ReturnType<typeof makeStreamResults>;

export type StreamBounds = StreamTimes & { readonly streamsMax: number };

const BOUNDS = { streamsMax: STREAMS_MAX, stallMsMax: STALL_MS_MAX, streamMsMax: STREAM_MS_MAX };

/**
 * Sends results as NDJSON, one stored part after the other: memory holds one of them, however
 * slowly the client reads. Of all results that are sent, one part is read at a time, by turns: many
 * that begin at once would take the CPU from all other requests.
 *
 * @throws Problem `overloaded` while too many results are being sent
 * @throws ServiceError `store-unavailable` if the first part cannot be read
 */
export function makeStreamResults(
  batches: Pick<Batches, 'readPart'>,
  { streamsMax, ...times }: StreamBounds = BOUNDS,
) {
  const shares = new FairShares(streamsMax);
  const turns = new FairTaskQueue({
    atOnceMax: 1,
    rests: true,
    waitingMax: streamsMax,
    refusal: 'too many parts are to be read',
  });
  return async function streamResults(
    range: LineRange & { readonly app: AppOwner },
    request: Request,
    response: Response,
    headers: Headers,
  ): Promise<void> {
    if (!shares.take(range.app)) throw overloaded('Too many results of this client app are being sent.');
    try {
      const isGzip = request.acceptsEncodings('gzip') === 'gzip';
      const lines = readBatchLines(batches, range, (read) => turns.run(range.app, read));
      await sendStream(response, lines, {
        ...{ isGzip, ...times },
        begin: () =>
          begin(response, 200, 'application/x-ndjson', {
            vary: 'accept-encoding',
            ...(isGzip ? { 'content-encoding': 'gzip' } : {}),
            ...headers,
          }),
      });
    } finally {
      shares.give(range.app);
    }
  };
}
