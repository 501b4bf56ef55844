import { noStore } from './no-store.ts';
import { RolecallError } from './rolecall-error.ts';
import { abortable, jittered, retryAfterMsOf, sleep } from './timing.ts';

type Fetch = typeof globalThis.fetch;

export type RolecallOptions = {
  /** Where the gateway is, such as `https://api.example`; may hold a path. */
  readonly baseUrl: string;
  /** `rck_live_…` of your client app. Keep it out of browsers. */
  readonly apiKey: string;
  /** Default: the runtime's own. */
  readonly fetch?: Fetch;
  /** Time limit of a call, retries included; default 30 000. */
  readonly timeoutMs?: number;
};

export type CallOptions = {
  readonly signal?: AbortSignal | undefined;
  /** Time limit of this call, retries included. */
  readonly timeoutMs?: number | undefined;
};

export type ApiRequest = CallOptions & {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** From the base URL, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** One line per value, sent as NDJSON instead of `body`. */
  readonly lines?: readonly unknown[];
  readonly headers?: Readonly<Record<string, string>>;
  /** Time limit of one attempt; default a share of the call's. */
  readonly attemptMs?: number;
  /** Time limit of the waits between the attempts, all together; default the call's. */
  readonly waitsMs?: number;
  /** Whether the request may be sent again when it is not known if it was carried out; default
   * true. */
  readonly isRepeatable?: boolean;
};

export type ApiResponse = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
};

export type Transport = {
  /** Sends a request until it is answered by something else than "later"; the answer is a 2xx. */
  readonly send: (request: ApiRequest) => Promise<ApiResponse>;
  /** The same for an answer in JSON that has these members. */
  readonly ask: <Answer>(request: ApiRequest, members?: Members<Answer>) => Promise<Answer>;
  readonly timeoutMs: number;
};

const TIMEOUT_MS = 30_000;
/** One attempt has this share of the call's time, so that a hanging attempt leaves time for
 * others. */
const ATTEMPT_SHARE = 0.4;
const ATTEMPT_MS_MIN = 500;
/** Bounds the loop; the call's time ends it long before. */
const ATTEMPTS_MAX = 10_000;
/** A check of which nothing could be read is made anew by its retry, and may be charged each
 * time. */
const UNAVAILABLE_ATTEMPTS_MAX = 3;
/** Where the answer names no time: 0.2 s, 0.4 s, … 5 s. Every wait is up to a half longer. */
const BACKOFF_MS_MIN = 200;
const BACKOFF_MS_MAX = 5_000;

/**
 * Sends requests and retries them. A check or batch carries one `Idempotency-Key` on all attempts,
 * so that it is accepted once, whatever was lost on the way.
 *
 * @throws RolecallError `config-invalid`
 */
export function makeTransport(options: RolecallOptions): Transport {
  const baseUrl = parseBaseUrl(options.baseUrl);
  if (typeof options.apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(options.apiKey))
    throw new RolecallError('config-invalid', 'apiKey must be the API key of your client app, rck_live_….');
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  if (!(timeoutMs > 0)) throw new RolecallError('config-invalid', 'timeoutMs must be above 0.');
  const fetch = options.fetch ?? globalThis.fetch;
  const cacheOption = noStore();

  const attempt = async (request: ApiRequest, content: Content, budgetMs: number): Promise<ApiResponse> => {
    const url = `${baseUrl}${request.path}`;
    const abort = abortable(request.signal, budgetMs);
    try {
      const response = await fetch(url, {
        method: request.method,
        headers: { 'x-api-key': options.apiKey, accept: ACCEPT, ...request.headers, ...content.headers },
        // A followed redirect would carry the key to another host.
        redirect: 'manual',
        ...cacheOption,
        signal: abort.signal,
        ...(content.body === undefined ? {} : { body: content.body }),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (cause) {
      request.signal?.throwIfAborted();
      if (abort.isTimedOut()) throw new RolecallError('timeout', `${url} did not answer in time.`, { cause });
      const detail = `${url} could not be reached: check baseUrl, the network, and that the gateway runs.`;
      throw new RolecallError('network-unavailable', detail, { cause });
    } finally {
      abort.end();
    }
  };

  const tryOnce = async (
    request: ApiRequest,
    content: Content,
    budgetMs: number,
  ): Promise<ApiResponse | RolecallError> => {
    try {
      const response = await attempt(request, content, budgetMs);
      return isSuccess(response) ? response : errorOf(response, `${baseUrl}${request.path}`);
    } catch (error) {
      if (error instanceof RolecallError) return error;
      throw error;
    }
  };

  const transport: Transport = {
    timeoutMs,
    ask: async (request, members) => parseAnswer(await transport.send(request), members),
    async send(request) {
      const content = contentOf(request);
      const callMs = request.timeoutMs ?? timeoutMs;
      const endsAt = performance.now() + callMs;
      const attemptMs = request.attemptMs ?? Math.max(ATTEMPT_MS_MIN, callMs * ATTEMPT_SHARE);
      let leftToWaitMs = request.waitsMs ?? callMs;
      for (let attempts = 1; ; attempts++) {
        const leftMs = Math.max(1, endsAt - performance.now());
        const outcome = await tryOnce(request, content, Math.min(leftMs, attemptMs));
        if (!(outcome instanceof RolecallError)) return outcome;
        const leastMs = Math.max(BACKOFF_MS_MIN, outcome.retryAfterMs ?? backoffMs(attempts));
        const spareMs = Math.min(leftToWaitMs, endsAt - performance.now()) - leastMs;
        const attemptsMax =
          outcome.code === 'evaluation-unavailable' ? UNAVAILABLE_ATTEMPTS_MAX : ATTEMPTS_MAX;
        if (spareMs <= 0 || attempts >= attemptsMax || !mayRepeat(request, outcome)) throw outcome;
        // At least half of the spare time is left to the attempts.
        const waitMs = Math.min(jittered(leastMs), leastMs + spareMs / 2);
        leftToWaitMs -= waitMs;
        await sleep(waitMs, request.signal);
      }
    },
  };
  return transport;
}

function mayRepeat({ isRepeatable = true }: ApiRequest, error: RolecallError): boolean {
  if (!isRepeatable) return error.status === 429;
  // The check continues: its result is polled.
  return error.isRetryable && !(error.code === 'deadline-exceeded' && error.requestId !== undefined);
}

const isSuccess = ({ status }: ApiResponse): boolean => status >= 200 && status <= 299;

export const NDJSON = 'application/x-ndjson';
const ACCEPT = `application/json, ${NDJSON}, application/problem+json`;

function parseBaseUrl(baseUrl: unknown): string {
  const url = typeof baseUrl === 'string' && URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    throw new RolecallError(
      'config-invalid',
      'baseUrl must be the absolute http(s) URL of the gateway, such as https://api.example, without user, query and fragment.',
    );
  return url.href.replace(/\/+$/, '');
}

type Content = { readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

function contentOf({ body, lines }: ApiRequest): Content {
  if (lines)
    return {
      headers: { 'content-type': NDJSON },
      body: lines.map((line) => toJson(line)).join('\n'),
    };
  return body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: toJson(body) };
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    const detail = 'The request cannot be written as JSON: a bigint, say, must be a number or a string.';
    throw new RolecallError('config-invalid', detail, { cause });
  }
}

const backoffMs = (attempts: number): number =>
  Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempts - 1));

/** The answer's problem document; for an answer that is not Rolecall's, an error that names the
 * sender. */
function errorOf(response: ApiResponse, url: string): RolecallError {
  const { status, headers, text } = response;
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json');
  const { code, detail, errors, requestId } = (isProblem ? parseObject(text) : undefined) ?? {};
  const retryAfterMs = retryAfterMsOf(headers.get('retry-after'));
  if (typeof code !== 'string')
    return new RolecallError('unexpected-answer', describeStranger(response, url), { status, retryAfterMs });
  return new RolecallError(code, typeof detail === 'string' ? detail : code, {
    status,
    retryAfterMs,
    ...(Array.isArray(errors) ? { errors } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
  });
}

function describeStranger({ status, headers }: ApiResponse, url: string): string {
  const location = headers.get('location');
  const sender = location
    ? `${url} redirects to ${location}`
    : `${url} answered ${status} with ${headers.get('content-type') ?? 'no content type'}`;
  return `${sender}, which is not an answer of Rolecall: check baseUrl, and any proxy before the gateway.`;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

type Members<Answer> = { readonly [Name in keyof Answer]?: 'string' | 'number' | 'list' };

/**
 * The JSON of an answer.
 *
 * @param members those that it must have
 * @throws RolecallError `unexpected-answer` if it is something else, such as a page of a proxy
 */
export function parseAnswer<Answer>(
  { status, headers, text }: ApiResponse,
  members: Members<Answer> = {},
): Answer {
  const json = parseObject(text);
  const type = headers.get('content-type') ?? 'no content type';
  if (!json) throw unexpectedAnswer(`The gateway answered ${status} with ${type} instead of JSON.`, status);
  for (const [name, kind] of Object.entries(members))
    if (kind === 'list' ? !Array.isArray(json[name]) : typeof json[name] !== kind)
      throw unexpectedAnswer(`The answer has no ${name}.`);
  return json as Answer;
}

export const unexpectedAnswer = (fault: string, status?: number): RolecallError =>
  new RolecallError('unexpected-answer', `${fault} Check baseUrl, and any proxy before the gateway.`, {
    status,
  });
