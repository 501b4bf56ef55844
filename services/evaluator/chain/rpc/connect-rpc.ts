import { errors, Pool } from 'undici';
import { z } from 'zod';
import { classifyLogError } from './classify-log-error.ts';
import { classifyRpcError, isRevertData } from './classify-rpc-error.ts';
import { RpcFailure } from './rpc-failure.ts';
import { startTimeLimit } from './time-limit.ts';

/** Calls to one endpoint in flight at a time. */
const CONNECTIONS_MAX = 16;
/** Longest `Retry-After` that is honoured. */
const RETRY_AFTER_MS_MAX = 60_000;
const DEFAULT_RETRY_AFTER_MS = 1_000;
/** Characters of an error's texts that are looked at. */
const ERROR_LENGTH_MAX = 1_000;

/** One JSON-RPC call; `params` is JSON text, because most of it is hex that needs no escaping. */
export type RpcRequest = { readonly method: string; readonly params: string };

/** The result of one call of a batch, or its own failure. */
export type RpcOutcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly failure: RpcFailure };

/** The JSON-RPC of one endpoint over HTTP. */
export type Rpc = AsyncDisposable & {
  /** @throws RpcFailure */
  call(request: RpcRequest, signal: AbortSignal): Promise<unknown>;
  /** One outcome per request, in their order. @throws RpcFailure if the batch as a whole failed */
  callMany(requests: readonly RpcRequest[], signal: AbortSignal): Promise<RpcOutcome[]>;
};

type RpcSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Time limit of one attempt, connecting and reading included. */
  readonly timeoutMs: number;
  /** A longer response is aborted. */
  readonly bodyBytesMax: number;
};

const ErrorText = z.string().transform((text) => text.slice(0, ERROR_LENGTH_MAX));
const Answer = z.object({
  id: z.unknown().optional(),
  result: z.unknown().optional(),
  error: z
    .object({
      code: z.number().catch(0),
      message: ErrorText.catch(''),
      // Some clients put an object around it.
      data: z
        .union([ErrorText, z.object({ data: ErrorText }).transform(({ data }) => data)])
        .optional()
        .catch(undefined),
    })
    .nullish(),
});

/**
 * Connects to an endpoint over keep-alive connections, with limits on the time and the size of a response.
 *
 * A failure never contains the URL, the headers or the endpoint's own text.
 */
export function connectRpc(settings: RpcSettings): Rpc {
  const url = new URL(settings.url);
  const pool = new Pool(url.origin, {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    connect: { timeout: settings.timeoutMs },
    headersTimeout: settings.timeoutMs,
    bodyTimeout: settings.timeoutMs,
    maxResponseSize: settings.bodyBytesMax,
  });
  const headers = { 'content-type': 'application/json', ...authorizationOf(url), ...settings.headers };
  let lastId = 0;

  async function post(body: string, signal: AbortSignal): Promise<unknown> {
    const attempt = startTimeLimit(signal, settings.timeoutMs);
    try {
      const path = url.pathname + url.search;
      const answer = await pool.request({ method: 'POST', path, headers, body, signal: attempt.signal });
      const text = await answer.body.text();
      return parseBody(text, answer.statusCode, answer.headers['retry-after']);
    } catch (error) {
      throw classifyThrown(error, attempt.isTimeout(), signal.aborted);
    } finally {
      attempt.end();
    }
  }

  return {
    async call({ method, params }, signal) {
      lastId += 1;
      const id = lastId;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
      const classify = method === 'eth_getLogs' ? classifyLogError : classifyRpcError;
      const outcome = outcomeOf(await post(body, signal), id, classify);
      if (!outcome.ok) throw outcome.failure;
      return outcome.result;
    },
    async callMany(requests, signal) {
      const first = lastId + 1;
      lastId += requests.length;
      const calls = requests.map(
        ({ method, params }, index) =>
          `{"jsonrpc":"2.0","id":${first + index},"method":"${method}","params":${params}}`,
      );
      const answers = await post(`[${calls.join(',')}]`, signal);
      // A single error object applies to the whole batch.
      if (!Array.isArray(answers)) {
        const outcome = outcomeOf(answers, undefined);
        throw outcome.ok ? new RpcFailure('malformed') : outcome.failure;
      }
      if (answers.length !== requests.length) throw new RpcFailure('malformed');
      const byId = new Map(answers.map((answer) => [(answer as { id?: unknown } | null)?.id, answer]));
      return requests.map((_, index) => outcomeOf(byId.get(first + index), first + index));
    },
    async [Symbol.asyncDispose]() {
      await pool.destroy();
    },
  };
}

/** Converts `user:password@` of a URL to an `Authorization` header. */
function authorizationOf(url: URL): Record<string, string> {
  if (url.username === '' && url.password === '') return {};
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Some endpoints send JSON-RPC errors with an HTTP error status: the JSON-RPC error takes precedence. */
function parseBody(text: string, status: number, retryAfter: string | string[] | undefined): unknown {
  if (status === 429)
    throw new RpcFailure('rate-limited', parseRetryAfter(retryAfter) ?? DEFAULT_RETRY_AFTER_MS);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw status === 200 ? new RpcFailure('malformed') : failureOf(status, retryAfter);
  }
  const isRpc = Array.isArray(json) || (typeof json === 'object' && json !== null && 'error' in json);
  if (status !== 200 && !isRpc) throw failureOf(status, retryAfter);
  return json;
}

const failureOf = (status: number, retryAfter: string | string[] | undefined): RpcFailure =>
  new RpcFailure(status === 413 ? 'too-large' : 'http-status', parseRetryAfter(retryAfter));

/** Seconds or a date (RFC 9110, 10.2.3), in ms from now; `undefined` if there is none or it is neither. */
function parseRetryAfter(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = /^[0-9]{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

/** An answer with another id belongs to another request and is rejected as malformed. */
function outcomeOf(answer: unknown, id: number | undefined, classify = classifyRpcError): RpcOutcome {
  const parsed = Answer.safeParse(answer);
  if (!parsed.success) return { ok: false, failure: new RpcFailure('malformed') };
  const { error, result } = parsed.data;
  if (error != null) {
    const kind = classify(error);
    return {
      ok: false,
      failure: new RpcFailure(
        kind,
        kind === 'rate-limited' ? DEFAULT_RETRY_AFTER_MS : undefined,
        kind === 'reverted' && isRevertData(error.data ?? ''),
      ),
    };
  }
  if (id === undefined || parsed.data.id !== id || result === undefined)
    return { ok: false, failure: new RpcFailure('malformed') };
  return { ok: true, result };
}

function classifyThrown(error: unknown, isTimeout: boolean, isAbandoned: boolean): RpcFailure {
  if (error instanceof RpcFailure) return error;
  if (isAbandoned) return new RpcFailure('abandoned');
  if (isTimeout) return new RpcFailure('timeout');
  if (error instanceof errors.ResponseExceededMaxSizeError) return new RpcFailure('endless');
  const isTimeoutOfUndici =
    error instanceof errors.ConnectTimeoutError ||
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError;
  return new RpcFailure(isTimeoutOfUndici ? 'timeout' : 'unreachable');
}
