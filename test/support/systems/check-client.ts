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

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The raw body. */
  readonly text: string;
  /** The parsed body; empty if it is not JSON. */
  readonly body: AnswerBody;
};

export type CheckClient = {
  /** POSTs a check; a string is sent unchanged. */
  readonly check: (body: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>;
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
 * A small client of the HTTP API for checks, as one client app.
 *
 * @example
 * const { status, body } = await makeCheckClient({ url, apiKey }).check({ account, rules });
 */
export function makeCheckClient({ url, apiKey }: { url: string; apiKey: string }): CheckClient {
  const call = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(url + path, { ...init, signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parseBody(text) };
  };
  const check: CheckClient['check'] = (body, headers = {}) =>
    call(PATH, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const poll: CheckClient['poll'] = (requestId, waitS = 0) =>
    call(`${PATH}/responses/${requestId}`, {
      headers: { 'x-api-key': apiKey, ...(waitS > 0 ? { prefer: `wait=${waitS}` } : {}) },
    });
  return {
    check,
    poll,
    async nonce() {
      const { body } = await call(NONCES_PATH, { method: 'POST', headers: { 'x-api-key': apiKey } });
      return body.nonce;
    },
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

function parseBody(text: string): AnswerBody {
  try {
    return JSON.parse(text) as AnswerBody;
  } catch {
    return {};
  }
}
