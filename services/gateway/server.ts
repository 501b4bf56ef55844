import { createServer, type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { newTraceparent, traceIdOf } from '#shared/telemetry/traceparent.ts';
import { PROBLEMS, Problem, problemBody } from './problem.ts';

/** A client that dribbles: its headers must be there within 10 s, its whole request within 15 s. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** Longer than a usual load balancer's idle timeout of 60 s, so that it is never we who close under a request. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
const HEADERS_MAX = 100;
const IDLE_SWEEP_MS = 50;

export type Server = AsyncDisposable & { readonly port: number };

export type ServerOptions = {
  readonly host: string;
  readonly port: number;
  readonly connectionsMax: number;
  /** How long readiness has to fail before the listener closes, so that no balancer sends to a closed door. */
  readonly readinessLeadMs: number;
};

/**
 * Serves HTTP/1.1. Disposal: waits `readinessLeadMs`, closes the listener, lets the requests under way finish.
 *
 * @example
 * const server = scope.use(await startServer(makeApp(deps), config.http));
 */
export async function startServer(listener: RequestListener, options: ServerOptions): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
    },
    listener,
  );
  server.maxConnections = options.connectionsMax;
  server.maxHeadersCount = HEADERS_MAX;
  const latest = new WeakMap<Socket, ServerResponse>();
  server.on('request', ({ socket }, response) => latest.set(socket, response));
  server.on('clientError', (error, socket: Socket) => answerClientError(error, socket, latest.get(socket)));
  // An unknown `Expect` is no reason to refuse: RFC 9110 10.1.1 leaves it to the server.
  server.on('checkExpectation', listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      await delay(options.readinessLeadMs);
      const closed = new Promise((resolve) => server.close(resolve));
      const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
      await closed;
      clearInterval(sweep);
    },
  };
}

/** What never became a request: malformed HTTP, too large headers, a client that was too slow. */
function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  last: ServerResponse | undefined,
): void {
  // A request that has its answer already and is still sending gets no second one.
  const isAnswered = last?.headersSent === true && !last.req.complete;
  if (!socket.writable || isAnswered || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = problemOfClientError(error.code);
  const { status } = PROBLEMS[problem.code];
  const body = problemBody(problem, `/requests/${traceIdOf(newTraceparent())}`);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'rolecall-version: 1',
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function problemOfClientError(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers-too-large', 'The headers are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('request-timeout', 'The request took too long.');
  return new Problem('malformed-request', 'This is not HTTP/1.1.');
}
