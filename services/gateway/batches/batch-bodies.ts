import type { IncomingMessage } from 'node:http';
import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { FairShares } from '#shared/fairness/fair-shares.ts';
import { setOwnDeadline } from '#shared/http/http-server.ts';
import { overloaded, Problem } from '#shared/http/problem.ts';
import { dropRest, readChunks } from '#shared/http/read-chunks.ts';
import { acquireWithin } from '#shared/stores/documents/write-document.ts';
import { JSON_BYTES_MAX, NDJSON_BYTES_MAX } from './receive-values.ts';

type App = Pick<AppAccess, 'accountId' | 'clientId'>;

/** Bytes of bodies that a gateway has in memory, from their first byte until their request is
 * handled. */
export const BODIES_BYTES_MAX = 64 * 1024 * 1024;
/** Of a preview: its body, and the members of the watch, which may have as many bytes as the largest
 * body. */
const REQUEST_BYTES_MAX = JSON_BYTES_MAX + NDJSON_BYTES_MAX;
/** From the beginning of a body's reading to its end. */
const BODY_TIMEOUT_MS = 120_000;
/** How long a request may wait until the body before it was read. */
const WAIT_MS_MAX = 3_000;
const WAIT_RETRY_MS = 25;
/** Requests that wait. Node keeps up to 64 KiB of the body of each. */
const WAITING_MAX = 256;

const BOUNDS = {
  bytesMax: BODIES_BYTES_MAX,
  /** Of one request. */
  ofOneMax: REQUEST_BYTES_MAX,
  timeoutMs: BODY_TIMEOUT_MS,
  waitMsMax: WAIT_MS_MAX,
  waitingMax: WAITING_MAX,
};
export type BatchBodyBounds = Readonly<typeof BOUNDS>;

export type BatchBody = Disposable & {
  /** The body as it arrives. Throws Problem `body-timeout`, `overloaded`. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Counts bytes that the request keeps beside its body. Throws Problem `overloaded`. */
  readonly hold: (bytes: number) => void;
};

export type BatchBodies = ReturnType<typeof makeBatchBodies>;

/**
 * Bounds the bodies of batches and member changes: one per client app at a time, and their bytes
 * over all apps, shared by account, then by app. The requests that wait are shared alike.
 *
 * @param stopping ends the bodies that are being read
 */
export function makeBatchBodies(stopping: AbortSignal, bounds: Partial<BatchBodyBounds> = {}) {
  const { bytesMax, ofOneMax, timeoutMs, waitMsMax, waitingMax } = { ...BOUNDS, ...bounds };
  /** The request whose body is being read, by client app. */
  const reading = new Map<string, IncomingMessage>();
  const shares = new FairShares(bytesMax, { place: ofOneMax });
  const waiting = new FairShares(waitingMax);
  /** Of this request only: the app may have sent another one since. */
  const endReading = (clientId: string, request: IncomingMessage): void => {
    if (reading.get(clientId) === request) reading.delete(clientId);
  };

  async function* bounded(
    request: IncomingMessage,
    { clientId }: App,
    hold: (bytes: number) => void,
  ): AsyncGenerator<Buffer, void> {
    const chunks = readChunks(request);
    const timer = setTimeout(() => chunks.stop(tooSlow()), timeoutMs);
    const onStop = () => chunks.stop(overloaded('This gateway is stopping.', CLOSE));
    if (stopping.aborted) onStop();
    stopping.addEventListener('abort', onStop);
    let length = 0;
    try {
      for await (const chunk of chunks) {
        length += chunk.length;
        // The reader refuses a longer one for its length: for a lack of room, the client would send it
        // again.
        if (length <= NDJSON_BYTES_MAX) hold(chunk.length);
        yield chunk;
      }
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener('abort', onStop);
      endReading(clientId, request);
      dropRest(request);
    }
  }

  const begin = (request: IncomingMessage, app: App): BatchBody => {
    const { clientId } = app;
    reading.set(clientId, request);
    setOwnDeadline(request);
    let ownBytes = 0;
    const hold = (bytes: number) => {
      if (!shares.take(app, bytes))
        throw overloaded('Too many batches and member changes are being received.');
      ownBytes += bytes;
    };
    return {
      chunks: bounded(request, app, hold),
      hold,
      [Symbol.dispose]() {
        endReading(clientId, request);
        shares.give(app, ownBytes);
        ownBytes = 0;
      },
    };
  };

  const wait = async (request: IncomingMessage, app: App): Promise<BatchBody> => {
    if (!waiting.take(app)) throw overloaded('Too many member changes of this client app are waiting.');
    try {
      return await acquireWithin(
        { msMax: waitMsMax, retryMs: WAIT_RETRY_MS, message: `another ${BEING_RECEIVED}` },
        async () => !reading.has(app.clientId) && begin(request, app),
      );
    } finally {
      waiting.give(app);
    }
  };

  return {
    /**
     * Starts to read the body of a client app's batch or member change. Its bytes count until
     * disposal.
     *
     * @param waits whether the request waits while another such body of the app is being read
     * @throws Problem, ServiceError `overloaded` at once, after the longest wait, or if too many
     *   requests wait
     */
    async open(
      request: IncomingMessage,
      app: App,
      { waits = false }: { readonly waits?: boolean } = {},
    ): Promise<BatchBody> {
      if (!reading.has(app.clientId)) return begin(request, app);
      try {
        if (!waits) throw overloaded(`Another ${BEING_RECEIVED}; send one at a time.`);
        return await wait(request, app);
      } catch (refusal) {
        dropRest(request);
        throw refusal;
      }
    },
  };
}

const BEING_RECEIVED = 'batch or member change of this client app is being received';
const CLOSE = { connection: 'close' };

/** The rest of such a body is not read: its connection ends with the answer. */
const tooSlow = (): Problem =>
  new Problem('body-timeout', 'The body did not arrive in time.', { headers: CLOSE });
