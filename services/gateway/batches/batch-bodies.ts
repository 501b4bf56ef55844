import type { IncomingMessage } from 'node:http';
import { FairShares } from '#shared/fair-shares.ts';
import { setOwnDeadline } from '#shared/http/http-server.ts';
import { dropRest, readChunks } from '#shared/http/read-chunks.ts';
import { overloaded, Problem } from '../problem.ts';

/** Bytes of bodies that a gateway has in memory, from their first byte until their request is handled; the apps share them. */
const BODIES_BYTES_MAX = 64 * 1024 * 1024;
/** From the beginning of a body's reading to its end. */
const BODY_TIMEOUT_MS = 120_000;

export type BatchBodyBounds = { readonly bytesMax: number; readonly timeoutMs: number };

export type BatchBody = Disposable & {
  /** The body as it arrives. Throws Problem `body-timeout`, `overloaded`. */
  readonly chunks: AsyncIterable<Buffer>;
};

export type BatchBodies = {
  /**
   * Starts to read the body of a client app's batch or member change. Its bytes count until disposal.
   *
   * @throws Problem `overloaded` while another such body of the app is being read
   */
  readonly open: (request: IncomingMessage, clientId: string) => BatchBody;
};

/**
 * Bounds the bodies of batches and member changes: one per client app at a time, and their bytes over all apps. No app can leave the others
 * without any: it holds at most as many as are free.
 *
 * @param stopping ends the bodies that are being read
 * @example
 * using body = bodies.open(request, app.clientId);
 * for await (const chunk of body.chunks) take(chunk);
 */
export function makeBatchBodies(
  stopping: AbortSignal,
  { bytesMax, timeoutMs }: BatchBodyBounds = { bytesMax: BODIES_BYTES_MAX, timeoutMs: BODY_TIMEOUT_MS },
): BatchBodies {
  /** The request whose body is being read, by client app. */
  const reading = new Map<string, IncomingMessage>();
  const shares = new FairShares(bytesMax);
  /** Of this request only: the app may have sent another one since. */
  const endReading = (clientId: string, request: IncomingMessage): void => {
    if (reading.get(clientId) === request) reading.delete(clientId);
  };

  async function* bounded(
    request: IncomingMessage,
    clientId: string,
    hold: (bytes: number) => void,
  ): AsyncGenerator<Buffer, void> {
    const chunks = readChunks(request);
    const timer = setTimeout(() => chunks.stop(tooSlow()), timeoutMs);
    const onStop = () => chunks.stop(overloaded('This gateway is stopping.', CLOSE));
    stopping.addEventListener('abort', onStop);
    try {
      for await (const chunk of chunks) {
        hold(chunk.length);
        yield chunk;
      }
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener('abort', onStop);
      endReading(clientId, request);
      dropRest(request);
    }
  }

  return {
    open(request, clientId) {
      if (reading.has(clientId)) {
        dropRest(request);
        throw overloaded(
          'Another batch or member change of this client app is being received; send one at a time.',
        );
      }
      reading.set(clientId, request);
      setOwnDeadline(request);
      let ownBytes = 0;
      const hold = (bytes: number) => {
        if (!shares.take(clientId, bytes))
          throw overloaded('Too many batches and member changes are being received.');
        ownBytes += bytes;
      };
      return {
        chunks: bounded(request, clientId, hold),
        [Symbol.dispose]() {
          endReading(clientId, request);
          shares.give(clientId, ownBytes);
          ownBytes = 0;
        },
      };
    },
  };
}

const CLOSE = { headers: { connection: 'close' } };

/** The rest of such a body is not read: its connection ends with the answer. */
const tooSlow = (): Problem => new Problem('body-timeout', 'The body did not arrive in time.', CLOSE);
