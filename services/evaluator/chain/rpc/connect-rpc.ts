import { promisify } from 'node:util';
import { brotliDecompress, unzip } from 'node:zlib';
import { type Dispatcher, errors, Pool, ProxyAgent } from 'undici';
import { z } from 'zod';
import { LearnedLimit } from '../endpoints/learned-limit.ts';
import {
  classifyRpcError,
  isAnyLimit,
  isAssertion,
  isRevertData,
  type RpcErrorObject,
} from './classify-rpc-error.ts';
import { RpcFailure, toRpcFailure } from './rpc-failure.ts';
import { secretsOf, shortenWords } from './shorten-words.ts';
import { startTimeLimit } from './time-limit.ts';

/** Calls to one endpoint in flight at a time. */
const CONNECTIONS_MAX = 16;
/** Longest `Retry-After` that is honoured. */
const RETRY_AFTER_MS_MAX = 60_000;
/** Without one: short, because while it runs the endpoint gets no calls at all. */
const DEFAULT_RETRY_AFTER_MS = 500;
/** Characters of an error's texts that are looked at. */
const ERROR_LENGTH_MAX = 1_000;
/** Of logs, codes and headers. A longer answer is aborted, and one that is longer when decompressed
 * refused. */
export const BODY_BYTES_MAX = 4 * 1024 * 1024;
/** A contract that a client names decides how long the answer to a call of it is. So it may be as
 * long as an error page and a few times its question: even through Multicall3 a read makes the
 * question longer than the answer. */
const STATE_METHODS: ReadonlySet<string> = new Set(['eth_call', 'eth_getBalance']);
const STATE_BYTES_MAX = 256 * 1024;
const STATE_BYTES_PER_BYTE = 4;
/** Calls of one JSON-RPC array. */
const ARRAY_MAX = 1_000;

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
  /**
   * One outcome per request, in their order. The calls go out as JSON-RPC arrays; an endpoint that
   * refuses an array gets shorter ones, down to single calls, and the length that it takes is
   * remembered. A call that goes alone has every failure for itself.
   *
   * @throws RpcFailure if the calls of an array failed together
   */
  callMany(requests: readonly RpcRequest[], signal: AbortSignal): Promise<RpcOutcome[]>;
};

/** The endpoint itself, of which is known how many calls of one array it takes. */
export type ConnectedRpc = Rpc & { readonly arrayMax: () => number };

type RpcSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Time limit of one attempt, connecting and reading included. */
  readonly timeoutMs: number;
  /** The proxy that the calls go through; its URL may hold credentials. */
  readonly proxy?: string | undefined;
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

const decompressors = { gzip: promisify(unzip), deflate: promisify(unzip), br: promisify(brotliDecompress) };

/**
 * Connects to an endpoint over keep-alive connections, with limits on the time and the size of a
 * response.
 *
 * A failure's message never contains the URL, the headers or the endpoint's own text; its `words`
 * are that text, shortened.
 */
export function connectRpc(settings: RpcSettings): ConnectedRpc {
  const url = new URL(settings.url);
  const dispatcher = connectDispatcher(url, settings);
  const ownHeaders = { ...authorizationOf(url), ...settings.headers };
  const headers = { 'content-type': 'application/json', ...ownHeaders };
  const target = { origin: url.origin, path: url.pathname + url.search, method: 'POST', headers } as const;
  const proxies = settings.proxy === undefined ? [] : [new URL(settings.proxy)];
  const secrets = secretsOf([url, ...proxies], ownHeaders);
  const arrayLimit = new LearnedLimit(ARRAY_MAX);
  let lastId = 0;

  async function post(body: string, requests: readonly RpcRequest[], signal: AbortSignal): Promise<unknown> {
    const isOfState = requests.every(({ method }) => STATE_METHODS.has(method));
    const bytesMax = isOfState ? STATE_BYTES_MAX + STATE_BYTES_PER_BYTE * body.length : BODY_BYTES_MAX;
    const attempt = startTimeLimit(settings.timeoutMs, signal);
    try {
      const answer = await dispatcher.request({ ...target, body, signal: attempt.signal });
      const retryAfter = answer.headers['retry-after'];
      const text = await textOf(answer, bytesMax).catch((error: unknown) => {
        // A long error page is no answer of a contract.
        throw isOk(answer.statusCode) ? error : failureOf(answer.statusCode, retryAfter);
      });
      return parseBody(text, answer.statusCode, retryAfter);
    } catch (error) {
      throw classifyThrown(error, attempt.isTimeout(), signal.aborted);
    } finally {
      attempt.end();
    }
  }

  /** An answer with another id belongs to another request and is rejected as malformed. */
  function outcomeOf(answer: unknown, id: number | undefined): RpcOutcome {
    const parsed = Answer.safeParse(answer);
    if (!parsed.success) return { ok: false, failure: new RpcFailure('malformed') };
    const { error, result } = parsed.data;
    if (error != null) return { ok: false, failure: failureOfError(error, secrets) };
    if (id === undefined || parsed.data.id !== id || result === undefined)
      return { ok: false, failure: new RpcFailure('malformed') };
    return { ok: true, result };
  }

  const bodyOf = ({ method, params }: RpcRequest, id: number): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;

  async function callOne(request: RpcRequest, signal: AbortSignal): Promise<RpcOutcome> {
    lastId += 1;
    const id = lastId;
    return outcomeOf(await post(bodyOf(request, id), [request], signal), id);
  }

  async function callArray(requests: readonly RpcRequest[], signal: AbortSignal): Promise<RpcOutcome[]> {
    const first = lastId + 1;
    lastId += requests.length;
    const calls = requests.map((request, index) => bodyOf(request, first + index));
    const answers = await post(`[${calls.join(',')}]`, requests, signal);
    // A single error object applies to the whole array.
    if (!Array.isArray(answers)) {
      const outcome = outcomeOf(answers, undefined);
      throw outcome.ok ? new RpcFailure('malformed') : outcome.failure;
    }
    if (answers.length !== requests.length) throw new RpcFailure('malformed');
    const byId = new Map(answers.map((answer) => [(answer as { id?: unknown } | null)?.id, answer]));
    return requests.map((_, index) => outcomeOf(byId.get(first + index), first + index));
  }

  /** @throws RpcFailure the array's failure if its first call fails alone too: then the array is
   * not what is wrong */
  async function callShorter(
    requests: readonly RpcRequest[],
    refusal: RpcFailure,
    signal: AbortSignal,
  ): Promise<RpcOutcome> {
    const [request] = requests;
    // What is too long says nothing about arrays: who asked decides what to leave out.
    const isOfArray = refusal.kind === 'malformed' || (refusal.isRefusal && refusal.kind !== 'endless');
    if (request === undefined || !isOfArray) throw refusal;
    const outcome = await callOne(request, signal);
    if (!outcome.ok && (outcome.failure.kind === refusal.kind || !outcome.failure.isErrorAnswer))
      throw refusal;
    arrayLimit.refuse(requests.length);
    return outcome;
  }

  return {
    arrayMax: () => arrayLimit.current,
    async call(request, signal) {
      const outcome = await callOne(request, signal);
      if (!outcome.ok) throw outcome.failure;
      return outcome.result;
    },
    async callMany(requests, signal) {
      const outcomes: RpcOutcome[] = [];
      while (outcomes.length < requests.length) {
        const at = outcomes.length;
        const count = Math.min(arrayLimit.current, requests.length - at);
        if (count === 1) {
          const singles = requests.slice(at, arrayLimit.current === 1 ? at + CONNECTIONS_MAX : at + 1);
          const alone = singles.map((request) => callOne(request, signal).catch(outcomeOfThrown));
          outcomes.push(...(await Promise.all(alone)));
          continue;
        }
        const part = requests.slice(at, at + count);
        try {
          outcomes.push(...(await callArray(part, signal)));
          arrayLimit.succeed(count);
        } catch (error) {
          outcomes.push(await callShorter(part, toRpcFailure(error), signal));
        }
      }
      return outcomes;
    },
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
    },
  };
}

function connectDispatcher({ origin }: URL, { timeoutMs, proxy }: RpcSettings): Dispatcher {
  const bounds = {
    connections: CONNECTIONS_MAX,
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  };
  return proxy === undefined
    ? new Pool(origin, { ...bounds, connect: { timeout: timeoutMs } })
    : new ProxyAgent({ ...bounds, uri: proxy, connectTimeout: timeoutMs });
}

/** It skips a byte-order mark. */
const UTF_8 = new TextDecoder();

/** The text of an answer; some endpoints compress it without being asked to. */
async function textOf({ body, headers }: Dispatcher.ResponseData, bytesMax: number): Promise<string> {
  const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase();
  const chunks: Buffer[] = [];
  let byteCount = 0;
  // Leaving the loop closes the connection.
  for await (const chunk of body) {
    byteCount += (chunk as Buffer).length;
    if (byteCount > bytesMax) throw new RpcFailure('endless');
    chunks.push(chunk as Buffer);
  }
  const bytes = Buffer.concat(chunks);
  if (encoding === 'identity') return UTF_8.decode(bytes);
  const decompress = decompressors[encoding as keyof typeof decompressors];
  if (decompress === undefined) throw new RpcFailure('malformed');
  try {
    return UTF_8.decode(await decompress(bytes, { maxOutputLength: bytesMax }));
  } catch (error) {
    const isTooLong = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw new RpcFailure(isTooLong ? 'endless' : 'malformed');
  }
}

const outcomeOfThrown = (error: unknown): RpcOutcome => ({ ok: false, failure: toRpcFailure(error) });

/** Converts `user:password@` of a URL to an `Authorization` header. */
function authorizationOf(url: URL): Record<string, string> {
  if (url.username === '' && url.password === '') return {};
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

/** Some endpoints send JSON-RPC errors with an HTTP error status: the JSON-RPC error takes
 * precedence. */
function parseBody(text: string, status: number, retryAfter: string | string[] | undefined): unknown {
  if (status === 429)
    throw new RpcFailure('rate-limited', {
      retryAfterMs: parseRetryAfter(retryAfter) ?? DEFAULT_RETRY_AFTER_MS,
    });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw isOk(status) ? new RpcFailure('malformed') : failureOf(status, retryAfter);
  }
  const isRpc = Array.isArray(json) || (typeof json === 'object' && json !== null && 'error' in json);
  if (!isOk(status) && !isRpc) throw failureOf(status, retryAfter);
  return json;
}

const isOk = (status: number): boolean => status >= 200 && status < 300;

const failureOf = (status: number, retryAfter: string | string[] | undefined): RpcFailure =>
  new RpcFailure(status === 413 ? 'too-large' : 'http-status', {
    retryAfterMs: parseRetryAfter(retryAfter),
    words: `HTTP ${status}`,
  });

/** Seconds or a date (RFC 9110, 10.2.3), in ms from now; `undefined` if there is none or it is
 * neither. */
function parseRetryAfter(value: string | string[] | undefined): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = /^[0-9]{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}

/** The words of an error are its message, or its data if the message says nothing. */
function failureOfError(error: RpcErrorObject, secrets: readonly string[]): RpcFailure {
  const kind = classifyRpcError(error);
  return new RpcFailure(kind, {
    retryAfterMs: kind === 'rate-limited' ? DEFAULT_RETRY_AFTER_MS : undefined,
    hasRevertData: kind === 'reverted' && isRevertData(error.data ?? ''),
    isAssertion: kind === 'reverted' && isAssertion(error.data ?? ''),
    words: shortenWords(`${error.message} ${error.data ?? ''}`, secrets),
    isErrorAnswer: true,
    mayBeTooLarge: isAnyLimit(error),
  });
}

function classifyThrown(error: unknown, isTimeout: boolean, isAbandoned: boolean): RpcFailure {
  if (error instanceof RpcFailure) return error;
  if (isAbandoned) return new RpcFailure('abandoned');
  if (isTimeout) return new RpcFailure('timeout');
  const isTimeoutOfUndici =
    error instanceof errors.ConnectTimeoutError ||
    error instanceof errors.HeadersTimeoutError ||
    error instanceof errors.BodyTimeoutError;
  return new RpcFailure(isTimeoutOfUndici ? 'timeout' : 'unreachable');
}
