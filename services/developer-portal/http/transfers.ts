import { FairShares } from '#shared/fairness/fair-shares.ts';
import { setOwnDeadline } from '#shared/http/http-server.ts';
import { overloaded, Problem } from '#shared/http/problem.ts';
import { dropRest, readChunks } from '#shared/http/read-chunks.ts';
import { sendStream } from '#shared/http/send-stream.ts';
import type { Request, Response } from './answer.ts';
import type { Download, Upload } from './operation.ts';

/** Uploads at once, of all accounts; each holds a few chunks of its body. */
const UPLOADS_MAX = 16;
/** From the beginning of an upload to its end, as at the gateway. */
const UPLOAD_TIMEOUT_MS = 120_000;
/** Files being sent at once, of all accounts; each holds a part of a batch, of up to 3 MiB. */
const DOWNLOADS_MAX = 16;
const DOWNLOAD_TIMES = { stallMsMax: 30_000, streamMsMax: 300_000 };

/**
 * Bodies and files that pass through the portal piece by piece: memory does not grow with their
 * size.
 */
export function makeTransfers() {
  const uploads = new FairShares(UPLOADS_MAX);
  const downloads = new FairShares(DOWNLOADS_MAX);
  return {
    /**
     * Hands a body to `take` as it arrives.
     *
     * @throws Problem `media-type-unsupported`, `overloaded`, `request-timeout`
     */
    async receive<T>(
      owner: string,
      request: Request,
      mediaType: string,
      take: (upload: Upload) => Promise<T>,
    ): Promise<T> {
      if (request.headers['content-type'] !== mediaType) {
        dropRest(request);
        throw new Problem('media-type-unsupported', `Send ${mediaType}.`);
      }
      if (!uploads.take(owner)) {
        dropRest(request);
        throw overloaded('Too many batches are being received; try again in a moment.');
      }
      setOwnDeadline(request);
      const chunks = readChunks(request);
      const timer = setTimeout(() => chunks.stop(tooSlow()), UPLOAD_TIMEOUT_MS);
      try {
        return await take({ chunks, apiKey: request.get('x-api-key') ?? '' });
      } finally {
        clearTimeout(timer);
        uploads.give(owner);
        dropRest(request);
      }
    },
    /** Sends a file. @throws Problem `overloaded` */
    async send(owner: string, response: Response, { mediaType, fileName, pieces }: Download): Promise<void> {
      if (!downloads.take(owner))
        throw overloaded('Too many files are being downloaded; try again in a moment.');
      try {
        const headers = {
          'content-type': mediaType,
          'content-disposition': `attachment; filename="${fileName}"`,
          'cache-control': 'no-store',
        };
        await sendStream(response, pieces[Symbol.asyncIterator](), {
          begin: () => response.writeHead(200, headers),
          ...{ isGzip: false, ...DOWNLOAD_TIMES },
        });
      } finally {
        downloads.give(owner);
      }
    },
  };
}

/** The rest of such a body is not read: the connection closes after the answer. */
const tooSlow = (): Problem =>
  new Problem('request-timeout', 'The batch did not arrive in time.', { headers: { connection: 'close' } });
