import type { Socket } from 'node:net';
import { Agent, type buildConnector, type Dispatcher } from 'undici';
import type { AppOwner } from '#shared/fairness/fair-shares.ts';
import { type AttemptOutcome, classifyErrorCode, classifyStatus } from '../domain/classify-attempt.ts';
import { dialOwner } from './guarded-connector.ts';

/** Bytes read of a response body; after that the connection is closed and the status decides. */
export const ANSWER_BYTES_MAX = 65_536;
const ANSWER_BYTES_KEPT = 4_096;
const HEADER_BYTES_MAX = 16_384;
/**
 * Bytes that a connection delivers between two requests. The bounds above count what the parser
 * hands on; interim answers (1xx) without end and the extensions of chunks are in no body.
 */
export const RECEIVED_BYTES_MAX = 4 * ANSWER_BYTES_MAX;
/** Tickets and renegotiations of one connection, which count as no bytes of it. Servers send two
 * tickets, and some ask for a certificate once. */
const HANDSHAKES_MAX = 16;
/** Below the 5 s after which many servers close an idle connection. A receiver cannot ask for a
 * longer time: each connection costs about 130 kB. */
const KEEP_ALIVE_MS = 4_000;
/** With more connections open, each one closes behind its answer. */
const CONNECTIONS_MAX = 1_024;
/** A kept-alive connection that is reset this soon was already being closed: the request is
 * repeated once. */
const STALE_MS_MAX = 1_000;
/** A busy connection is replaced this often, so that a changed DNS entry takes effect. */
const CONNECTION_AGE_MS_MAX = 300_000;

const AGENT_OPTIONS = {
  pipelining: 1,
  maxHeaderSize: HEADER_BYTES_MAX,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_MS,
  clientTtl: CONNECTION_AGE_MS_MAX,
  // The attempt has one timer of its own.
  headersTimeout: 0,
  bodyTimeout: 0,
} as const;

export type AttemptRequest = {
  /** Whose turn it is if the name must be looked up. */
  readonly owner: AppOwner;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type AttemptDelivery = (request: AttemptRequest) => Promise<AttemptOutcome>;

type Options = {
  readonly connect: buildConnector.connector;
  /** From the start of the attempt to the last byte of the response. */
  readonly attemptTimeoutMs: number;
  readonly connectionsPerOriginMax: number;
  /** Default 1 024. */
  readonly connectionsMax?: number;
};

/**
 * Opens the client that makes attempts: one POST, never redirected, over kept-alive connections
 * (HTTP/1.1).
 *
 * An attempt never throws: every outcome has a class. Time, header bytes and body bytes are
 * bounded.
 *
 * @example
 * const outcome = await delivery.attempt({ url, headers, body }); // { class: 'delivered', status: 204, … }
 */
export function connectDelivery({
  connectionsMax = CONNECTIONS_MAX,
  ...options
}: Options): AsyncDisposable & { readonly attempt: AttemptDelivery } {
  let connectionCount = 0;
  // undici starts the first request of a connection while it takes the connection over, and every
  // later one at other times.
  let isTakingOver = false;
  const connect: buildConnector.connector = (target, callback) =>
    options.connect(target, (...result) => {
      const [, socket] = result;
      if (socket) {
        connectionCount += 1;
        socket.once('close', () => {
          connectionCount -= 1;
        });
        boundReads(socket as Socket);
      }
      isTakingOver = true;
      try {
        callback(...result);
      } finally {
        isTakingOver = false;
      }
    });
  const agent = new Agent({ ...AGENT_OPTIONS, connect, connections: options.connectionsPerOriginMax });
  const post = (over: Agent, request: AttemptRequest, timeoutMs: number, onStart?: () => void) =>
    dialOwner.run(request.owner, () =>
      postOnce(over, request, {
        timeoutMs,
        reset: connectionCount >= connectionsMax,
        onStart,
      }),
    );

  const attempt = async (request: AttemptRequest): Promise<Answer> => {
    const endsAt = performance.now() + options.attemptTimeoutMs;
    let reusedAt: number | undefined;
    const noteReuse = () => {
      reusedAt = isTakingOver ? undefined : performance.now();
    };
    try {
      return await post(agent, request, options.attemptTimeoutMs, noteReuse);
    } catch (error) {
      // The request went out on a kept-alive connection that the receiver was closing.
      const isStale = classOf(error) === 'connection-reset' && reusedAt !== undefined;
      if (!isStale || performance.now() - (reusedAt ?? 0) > STALE_MS_MAX) throw error;
      const fresh = new Agent({ ...AGENT_OPTIONS, connect, connections: 1 });
      const leftMs = Math.max(0, endsAt - performance.now());
      return await post(fresh, request, leftMs).finally(() => fresh.destroy());
    }
  };
  return {
    attempt: async (request) => {
      const startedAt = performance.now();
      const durationMs = () => Math.round((performance.now() - startedAt) * 100) / 100;
      try {
        const answer = await attempt(request);
        return { ...answer, class: classifyStatus(answer.status), durationMs: durationMs() };
      } catch (error) {
        return { class: classOf(error), durationMs: durationMs() };
      }
    },
    async [Symbol.asyncDispose]() {
      await agent.destroy();
    },
  };
}

/** Closes a connection that delivers too much between two requests, or never ends its handshakes. */
function boundReads(socket: Socket): void {
  let bytesSent = 0;
  let bytesBefore = 0;
  let bytesSeen = 0;
  socket.on('readable', () => {
    const { bytesRead, bytesWritten } = socket;
    if (bytesWritten !== bytesSent) bytesBefore = bytesSeen;
    bytesSent = bytesWritten;
    bytesSeen = bytesRead;
    if (bytesRead - bytesBefore > RECEIVED_BYTES_MAX) socket.destroy(TOO_MUCH);
  });
  let handshakeCount = 0;
  // TLS alone has these events: a ticket came, a handshake ended.
  for (const event of ['session', 'secure'])
    socket.on(event, () => {
      handshakeCount += 1;
      if (handshakeCount > HANDSHAKES_MAX) socket.destroy(TOO_MUCH);
    });
}

const classOf = (error: unknown) => classifyErrorCode(codeOf(error));

type Answer = { readonly status: number; readonly retryAfter: string | undefined; readonly body: string };

type CodedError = {
  readonly code?: unknown;
  readonly name?: unknown;
  readonly cause?: unknown;
  readonly errors?: unknown;
};

const CAUSES_MAX = 5;

/** The first code among the nested causes: undici wraps errors of `net` and `tls`, `net` wraps one
 * per address. */
function codeOf(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < CAUSES_MAX && typeof current === 'object' && current !== null; depth += 1) {
    const { code, name, cause, errors }: CodedError = current;
    if (typeof code === 'string') return code;
    // undici 8 gives its parser's errors a name and no code.
    if (name === 'HTTPParserError') return 'HPE_INVALID';
    current = Array.isArray(errors) ? errors[0] : cause;
  }
  return undefined;
}

type PostOptions = {
  readonly timeoutMs: number;
  /** Whether the connection closes behind the answer. */
  readonly reset: boolean;
  /** Called when a connection begins to send the request. */
  readonly onStart?: (() => void) | undefined;
};

/** Posts once through undici's handler interface, without a stream or an AbortSignal per attempt. */
export function postOnce(
  agent: Pick<Agent, 'dispatch'>,
  { url, headers, body }: Omit<AttemptRequest, 'owner'>,
  { timeoutMs, reset, onStart }: PostOptions,
): Promise<Answer> {
  const { origin, pathname, search } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const kept = makeKeptBody();
  let controller: Dispatcher.DispatchController | undefined;
  let isOver = false;
  let status = 0;
  let retryAfter: string | undefined;
  const end = (settle: () => void) => {
    isOver = true;
    clearTimeout(timer);
    settle();
  };
  const finish = () => end(() => resolve({ status, retryAfter, body: kept.text() }));
  const timer = setTimeout(() => {
    end(() => reject(TIMED_OUT));
    controller?.abort(TIMED_OUT);
  }, timeoutMs);
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      onStart?.();
      // The attempt timed out while it waited for a connection: it must not be sent now.
      if (isOver) started.abort(TIMED_OUT);
    },
    onResponseStart(_, statusCode, answerHeaders) {
      status = statusCode;
      const header = answerHeaders['retry-after'];
      retryAfter = Array.isArray(header) ? header[0] : header;
    },
    onResponseData(reading, chunk) {
      if (kept.add(chunk) <= ANSWER_BYTES_MAX) return;
      finish();
      reading.abort(LONG_ENOUGH);
    },
    onResponseEnd: finish,
    onResponseError: (_, error) => end(() => reject(error)),
  };
  try {
    const path = `${pathname}${search}`;
    // Not `reset: false`, which would keep a connection that undici wants to close.
    agent.dispatch({ origin, path, method: 'POST', headers, body, ...(reset && { reset }) }, handler);
  } catch (error) {
    end(() => reject(error));
  }
  return promise;
}

const TIMED_OUT = Object.assign(new Error('the attempt took too long'), { code: 'ETIMEDOUT' });
const TOO_MUCH = Object.assign(new Error('the receiver sends without end'), { code: 'UND_ERR_RES_ENDLESS' });
const LONG_ENOUGH = new Error('the answer is long enough');

/** Bytes that are not UTF-8 become characters of three bytes each. */
const cutText = (text: string): string => {
  const bytes = Buffer.from(text);
  if (bytes.length <= ANSWER_BYTES_KEPT) return text;
  return new TextDecoder().decode(bytes.subarray(0, ANSWER_BYTES_KEPT), { stream: true });
};

/** Keeps the beginning of a body and counts the whole. */
function makeKeptBody() {
  const parts: Buffer[] = [];
  let keptBytes = 0;
  let readBytes = 0;
  return {
    /** Returns the bytes read so far. */
    add(chunk: Buffer): number {
      readBytes += chunk.length;
      if (keptBytes < ANSWER_BYTES_KEPT) {
        const part = Buffer.from(chunk.subarray(0, ANSWER_BYTES_KEPT - keptBytes));
        parts.push(part);
        keptBytes += part.length;
      }
      return readBytes;
    },
    text: () => cutText(Buffer.concat(parts).toString('utf8')),
  };
}
