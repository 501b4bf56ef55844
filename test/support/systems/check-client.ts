import { NONCES_PATH, CHECK_PATH as PATH } from '#shared/contracts/paths.ts';

/** The body of an answer: a result, an acknowledgement or a problem. */
export type AnswerBody = {
  readonly requestId?: string;
  readonly status?: string | number;
  readonly roles?: readonly { readonly id: string; readonly granted: boolean }[];
  readonly errors?: readonly {
    readonly code: string;
    readonly ruleIndex?: number;
    readonly pointer?: string;
    readonly roleId?: string;
    readonly retryable?: boolean;
  }[];
  readonly blocks?: Readonly<
    Record<string, { readonly number: number; readonly hash: string; readonly proved: boolean }>
  >;
  readonly code?: string;
  readonly nonce?: string;
};

export type Answer<T = AnswerBody> = {
  readonly status: number;
  readonly headers: Headers;
  /** The raw body. */
  readonly text: string;
  /** The parsed body; empty if it is not JSON. */
  readonly body: T;
};

type MoreHeaders = Readonly<Record<string, string>>;

export type CheckClient = {
  /** Any request of the API; a string is sent unchanged. */
  readonly send: <T = AnswerBody>(
    method: string,
    path: string,
    body?: unknown,
    headers?: MoreHeaders,
  ) => Promise<Answer<T>>;
  /** The body of an answer. @throws Error with any answer but a success */
  readonly mustSend: <T = AnswerBody>(method: string, path: string, body?: unknown) => Promise<T>;
  /** POSTs a check; a string is sent unchanged. */
  readonly check: (body: unknown, headers?: MoreHeaders) => Promise<Answer>;
  /** Asks for a result, waiting for up to `waitS` seconds (default 0). */
  readonly poll: (requestId: string, waitS?: number) => Promise<Answer>;
  /** A nonce for `signIn`; nothing if the service issues none now. */
  readonly nonce: () => Promise<string | undefined>;
  /** Sends the check in poll mode and polls until its result is there. */
  readonly checkAndWait: (body: object) => Promise<Answer>;
};

const REQUEST_TIMEOUT_MS = 40_000;
const LONG_POLL_S = 10;
const POLLS_MAX = 12;

/**
 * A small client of the HTTP API, as one client app.
 *
 * @example
 * const { status, body } = await makeCheckClient({ url, apiKey }).check({ account, rules });
 */
export function makeCheckClient({ url, apiKey }: { url: string; apiKey: string }): CheckClient {
  const send = async <T = AnswerBody>(
    method: string,
    path: string,
    body?: unknown,
    more: MoreHeaders = {},
  ): Promise<Answer<T>> => {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': apiKey, ...type, ...more },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const { status, headers } = response;
    const text = await response.text();
    return { status, headers, text, body: parseBody(text) as T };
  };
  const check: CheckClient['check'] = (body, headers) => send('POST', PATH, body, headers);
  const poll: CheckClient['poll'] = (requestId, waitS = 0) =>
    send('GET', `${PATH}/responses/${requestId}`, undefined, waitS > 0 ? { prefer: `wait=${waitS}` } : {});
  return {
    send,
    async mustSend<T = AnswerBody>(method: string, path: string, body?: unknown) {
      const answer = await send<T>(method, path, body);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer.body;
    },
    check,
    poll,
    nonce: async () => (await send('POST', NONCES_PATH)).body.nonce,
    async checkAndWait(body) {
      const accepted = await check({ ...body, async: true });
      const { requestId } = accepted.body;
      if (accepted.status !== 202 || requestId === undefined)
        throw new Error(`the check was not accepted: ${accepted.status} ${accepted.text}`);
      for (let polls = 0; polls < POLLS_MAX; polls++) {
        const answer = await poll(requestId, LONG_POLL_S);
        if (answer.status !== 202) return answer;
      }
      throw new Error(`no result for ${requestId} after ${POLLS_MAX} long polls`);
    },
  };
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
