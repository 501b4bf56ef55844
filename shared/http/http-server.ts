import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { FairShares } from '#shared/fairness/fair-shares.ts';
import { newTraceparent, traceIdOf } from '#shared/telemetry/traceparent.ts';
import { visitorOf } from './client-address.ts';
import { Problem, problemBody } from './problem.ts';

export const HTTP_TIMEOUTS_MS = {
  /** Time limit for a request's headers, from its first byte or from the start of the
   * connection. */
  headers: 10_000,
  /** Time limit for the whole request, even if the client keeps sending. */
  request: 15_000,
  /**
   * How long a connection may be idle between requests; Node waits a second more. Longer than the
   * usual idle timeout of a load balancer (60 s), so that the server never closes a connection that
   * is about to carry a request.
   */
  keepAlive: 72_000,
  /** A client that takes nothing of a finished answer for this long is disconnected. */
  answer: 30_000,
} as const;
export type HttpTimeouts = { readonly [Name in keyof typeof HTTP_TIMEOUTS_MS]: number };
const HEADERS_MAX = 100;
/** Requests of a connection that have no answer yet. A chunk of 64 KiB holds more than a thousand;
 * usual clients send one. */
const PIPELINED_MAX = 32;
/** The longest interval between two checks for connections that are late. */
const SWEEP_MS_MAX = 1_000;
const IDLE_SWEEP_MS = 50;
/** How long a refused connection waits for the client to close it. */
const LINGER_MS = 1_000;

export type HttpServer = AsyncDisposable & {
  readonly port: number;
  /** Connections that clients have open now. */
  readonly countConnections: () => Promise<number>;
};

type HttpServerOptions = {
  readonly host: string;
  readonly port: number;
  /** Shared by sites: a visitor that keeps its connections open, or a whole proxy. */
  readonly connectionsMax: number;
  /** Default `HTTP_TIMEOUTS_MS`. */
  readonly timeoutsMs?: HttpTimeouts;
  /** How long readiness fails before the listener closes, so that no load balancer sends to a
   * closed port. */
  readonly readinessLeadMs: number;
  /** Of the answer to bytes that are not an HTTP request. */
  readonly headers: Readonly<Record<string, string>>;
};

/** Requests whose handlers bound the time of their bodies themselves. */
const ownDeadlines = new WeakSet<IncomingMessage>();

/** Exempts a request from `timeoutsMs.request`: its handler bounds the time in which the body must
 * arrive. */
export function setOwnDeadline(request: IncomingMessage): void {
  ownDeadlines.add(request);
}

/**
 * Serves HTTP/1.1; bytes that are not an HTTP request get a problem document too. The requests of a
 * connection are handled one after the other: a client that sends many at once takes a turn of the
 * event loop for each, and those that wait hold nothing. Disposal: waits `readinessLeadMs`, closes
 * the listener, lets the requests under way finish.
 */
export async function startHttpServer(
  listener: RequestListener,
  options: HttpServerOptions,
): Promise<HttpServer> {
  const { timeoutsMs = HTTP_TIMEOUTS_MS } = options;
  const server = createServer({
    headersTimeout: timeoutsMs.headers,
    requestTimeout: timeoutsMs.request,
    keepAliveTimeout: timeoutsMs.keepAlive,
    connectionsCheckingInterval: Math.min(SWEEP_MS_MAX, timeoutsMs.headers),
    requireHostHeader: false,
  });
  server.maxConnections = options.connectionsMax;
  boundBySite(server, options.connectionsMax);
  server.maxHeadersCount = HEADERS_MAX;
  const latest = new WeakMap<Socket, ServerResponse>();
  const pending = new WeakMap<Socket, Set<ServerResponse>>();
  server.on('request', ({ socket }, response) => {
    const ofSocket = pending.get(socket) ?? new Set();
    if (socket.destroyed || ofSocket.size >= PIPELINED_MAX) return void socket.destroy();
    latest.set(socket, response);
    pending.set(socket, ofSocket.add(response));
    response.once('close', () => {
      ofSocket.delete(response);
      // The connections take turns: each carries one request at a time.
      if (ofSocket.size > 0) setImmediate(() => serveNext(ofSocket));
    });
    // Emitted when the handler has ended the answer. Node replaces the timeout once the socket has
    // taken all of it.
    response.once('prefinish', () => socket.setTimeout(timeoutsMs.answer));
    serveNext(ofSocket);
  });
  const served = new WeakSet<ServerResponse>();
  const serveNext = (pending: ReadonlySet<ServerResponse>): void => {
    const [next] = pending;
    if (next === undefined || served.has(next) || next.req.socket.destroyed) return;
    served.add(next);
    listener(next.req, next);
  };
  server.on('clientError', (error, socket: Socket) =>
    answerClientError(error, socket, { last: latest.get(socket), pending: pending.get(socket) }, options),
  );
  // An unknown `Expect` is not a reason to refuse: RFC 9110 10.1.1 leaves it to the server.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    countConnections: () => promisify(server.getConnections).call(server),
    async [Symbol.asyncDispose]() {
      await delay(options.readinessLeadMs);
      const closed = new Promise((resolve) => server.close(resolve));
      const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
      await closed;
      clearInterval(sweep);
    },
  };
}

/** Closes connections that a site opens beyond its share, so that none takes all of them. */
function boundBySite(server: Server, countMax: number): void {
  const shares = new FairShares(countMax);
  server.on('connection', (socket: Socket) => {
    const { accountId: owner } = visitorOf(socket.remoteAddress);
    if (shares.take(owner)) socket.once('close', () => shares.give(owner));
    else socket.destroy();
  });
}

/** Bytes that are not an HTTP request: malformed HTTP, too large headers, a client that was too
 * slow. */
function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  {
    last,
    pending = new Set(),
  }: {
    readonly last: ServerResponse | undefined;
    /** The answers that are not sent yet: of a client that pipelines its requests, several. */
    readonly pending: ReadonlySet<ServerResponse> | undefined;
  },
  { headers }: Pick<HttpServerOptions, 'headers'>,
): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && last && !last.req.complete && ownDeadlines.has(last.req))
    return;
  // A request that has its answer already and is still sending gets no second one.
  const isAnswered = last?.headersSent === true && !last.req.complete;
  // A whole request before these bytes waits for its answer: this one would take its place.
  const isBehind = [...pending].some(({ req }) => req.complete);
  if (!socket.writable || isAnswered || isBehind || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const problem = problemOfBytes(error.code);
  const body = problemBody(problem, `/requests/${traceIdOf(newTraceparent())}`);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    'content-type: application/problem+json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  refuse(socket, `${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Sends the last answer of a connection. What still comes is read and thrown away: a refused
 * request must have no effect. */
function refuse(socket: Socket, answer: string): void {
  // In place of the HTTP parser's own. Unread bytes would make the close a reset, and the client
  // would not see its answer.
  socket.removeAllListeners('data');
  socket.on('data', () => undefined);
  socket.end(answer);
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(linger));
}

function problemOfBytes(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers-too-large', 'The headers are too large.');
  return code === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? new Problem('request-timeout', 'The request took too long.')
    : new Problem('malformed-request', 'This is not HTTP/1.1.');
}
