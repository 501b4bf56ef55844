import type { AuthenticationProviderArgs, Authenticator } from 'kafkajs';
import { ServiceError } from '../errors.ts';

/** What precedes the bytes of a SASL message: their number. */
const LENGTH_BYTES = 4;
const SEPARATOR = '\u0001';

/**
 * The SASL OAUTHBEARER login of a connection (RFC 7628). A broker that refuses a token may first
 * answer with the reason, which kafkajs's own login takes for a success.
 *
 * @param readToken returns the token for a new connection
 * @param extensions further facts about the client that the provider asks for, as `name=value`
 */
export const makeBearerLogin =
  (readToken: () => Promise<string>, extensions: readonly string[]) =>
  ({ saslAuthenticate }: AuthenticationProviderArgs): Authenticator => ({
    async authenticate() {
      const parts = ['n,,', `auth=Bearer ${await readToken()}`, ...extensions, '', ''];
      const text = Buffer.from(parts.join(SEPARATOR));
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeInt32BE(text.length);
      await saslAuthenticate({
        request: { encode: () => Buffer.concat([length, text]) },
        response: {
          decode: (answer) => answer.subarray(LENGTH_BYTES),
          parse(reason) {
            if (reason.length > 0) throw new Error(`SASL OAUTHBEARER authentication failed: ${reason}`);
            return reason;
          },
        },
      });
    },
  });

type ClientCredentials = {
  /** The address of the token endpoint. */
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string | undefined;
};

const REQUEST_TIMEOUT_MS = 5_000;
/** kafkajs logs in again 10 s before a session is over: a token that ends this soon is replaced. */
const REMAINING_MS_MIN = 15_000;
/** The same as a share of the token's whole time. */
const REMAINING_SHARE_MIN = 0.2;
/** Every connection asks again and again while it has no token. */
const FAILED_MS = 1_000;
/** The standard's default is no statement; a provider that does not say how long a token lasts is
 * asked this often. */
const UNKNOWN_LIFETIME_S = 60;

type Fetch = (url: string, init: RequestInit) => Promise<Pick<Response, 'ok' | 'status' | 'json'>>;

/**
 * Gets tokens with a client's own credentials, and keeps each until a fifth of its time is left.
 * All connections share one request. While the endpoint gives none, a token that has not expired
 * still serves.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 *
 * @param credentials read for each request, so that a secret in a file can be replaced
 * @param monotonicMs a monotonic clock
 * @throws ServiceError `broker-unavailable` that names the endpoint's setting, and never a secret
 *
 * @example
 * const readToken = makeTokenClient(() => ({ url, clientId, clientSecret, scope: 'kafka' }));
 * await readToken(); // 'eyJhbGciOi…'
 */
export function makeTokenClient(
  credentials: () => ClientCredentials,
  { fetch = globalThis.fetch as Fetch, monotonicMs = () => performance.now() } = {},
): () => Promise<string> {
  let known: { readonly token: string; readonly staleAtMs: number; readonly endsAtMs: number } | undefined;
  let asking: Promise<string> | undefined;
  let failed = { error: undefined as unknown, untilMs: Number.NEGATIVE_INFINITY };
  const ask = async (): Promise<string> => {
    const askedAtMs = monotonicMs();
    try {
      const { token, lifetimeMs } = await requestToken(credentials(), fetch);
      const remainingMs = Math.max(REMAINING_MS_MIN, lifetimeMs * REMAINING_SHARE_MIN);
      const endsAtMs = askedAtMs + lifetimeMs;
      known = { token, endsAtMs, staleAtMs: endsAtMs - remainingMs };
      return token;
    } catch (error) {
      failed = { error, untilMs: monotonicMs() + FAILED_MS };
      throw error;
    } finally {
      asking = undefined;
    }
  };
  return async () => {
    const nowMs = monotonicMs();
    if (known && nowMs < known.staleAtMs) return known.token;
    try {
      if (nowMs < failed.untilMs) throw failed.error;
      asking ??= ask();
      return await asking;
    } catch (error) {
      if (known && monotonicMs() < known.endsAtMs) return known.token;
      throw error;
    }
  };
}

async function requestToken(
  { url, clientId, clientSecret, scope }: ClientCredentials,
  fetch: Fetch,
): Promise<{ token: string; lifetimeMs: number }> {
  const login = [clientId, clientSecret].map(encodeURIComponent).join(':');
  const response = await fetch(url, {
    method: 'POST',
    redirect: 'error',
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}`, accept: 'application/json' },
    body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) }),
  }).catch((error: unknown) => {
    throw noToken(reasonOf(error));
  });
  const answer = (await response.json().catch(() => ({}))) as Readonly<Record<string, unknown>> | null;
  if (!response.ok) throw noToken(`HTTP ${response.status}${errorCodeOf(answer?.['error'])}`);
  const token = answer?.['access_token'];
  if (typeof token !== 'string' || token === '') throw noToken('its answer has no access_token');
  const seconds = Number(answer?.['expires_in']);
  return { token, lifetimeMs: 1_000 * (seconds > 0 ? seconds : UNKNOWN_LIFETIME_S) };
}

const noToken = (reason: string): ServiceError =>
  new ServiceError('broker-unavailable', `KAFKA_SASL_TOKEN_URL gave no token: ${reason}`);

/** A code such as `invalid_client`; another text of the endpoint is not repeated. */
const errorCodeOf = (error: unknown): string =>
  typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? `, ${error}` : '';

/** `fetch` hides the system's own code in the cause. */
function reasonOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: string; readonly cause?: { readonly code?: string } };
  return cause?.code ?? (name === 'TimeoutError' ? 'no answer in time' : 'the request failed');
}
