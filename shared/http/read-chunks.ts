import type { IncomingMessage } from 'node:http';

/** How long the rest of a refused body is read and dropped, so that the client gets its answer and
 * not a reset. */
const REST_TIMEOUT_MS = 10_000;

type Chunks = AsyncIterable<Buffer> & {
  /** Makes the reader throw this error, at once if it is waiting. */
  readonly stop: (error: Error) => void;
};

/**
 * The body of a request as it arrives. Unlike the stream's own iterator it can be stopped while it
 * waits, and leaves the request usable: the answer can still be sent. Bytes that are not read yet
 * wait in the socket.
 *
 * The iterator throws Error if the client disconnected, so that no answer can be sent.
 */
export function readChunks(request: IncomingMessage): Chunks {
  let failure: Error | undefined;
  let wake = (): void => undefined;
  const onEvent = (): void => wake();
  const onClose = (): void => {
    if (!request.complete) failure ??= new Error('the client went away');
    wake();
  };

  async function* iterate(): AsyncGenerator<Buffer, void> {
    request.on('readable', onEvent).on('end', onEvent).on('error', onEvent).on('close', onClose);
    try {
      for (;;) {
        if (failure) throw failure;
        const chunk = request.read() as Buffer | null;
        if (chunk !== null) yield chunk;
        else if (request.readableEnded) return;
        else if (request.destroyed) throw new Error('the client went away');
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      request.off('readable', onEvent).off('end', onEvent).off('close', onClose);
    }
  }

  return {
    [Symbol.asyncIterator]: iterate,
    stop(error) {
      failure ??= error;
      wake();
    },
  };
}

/** Reads and drops the rest of a body, for a bounded time. */
export function dropRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), REST_TIMEOUT_MS).unref();
  request.once('close', () => clearTimeout(timer));
}
