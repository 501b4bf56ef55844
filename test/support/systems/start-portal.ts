import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CommonConfig } from '#shared/config.ts';
import { makeOpenApi } from '../../../services/developer-portal/http/openapi.ts';
import { faultOf, type OpenApiDocument } from '../judges/openapi-validator.ts';
import { waitUntil } from '../wait-until.ts';
import { type SpawnedProcess, spawnNode } from './spawn-process.ts';

/** One key ring for all portals of a test, so that each decrypts the secrets of the others. */
export const SECRET_KEYS = `1:${randomBytes(32).toString('base64')}`;

const document = JSON.parse(JSON.stringify(makeOpenApi())) as OpenApiDocument;

export type RunningPortal = AsyncDisposable & { readonly url: string; readonly process: SpawnedProcess };

/** Starts a real portal process on the infrastructure of this run and waits until it listens. */
export async function startPortal(
  config: CommonConfig,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningPortal> {
  const child = spawnNode(['services/developer-portal/main.ts'], {
    KAFKA_BROKERS: config.kafka.brokers.join(','),
    REDIS_URL: config.redis.url,
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: '0',
    OPS_HOST: '127.0.0.1',
    OPS_PORT: '0',
    LOG_LEVEL: 'trace',
    ROLECALL_SECRET_KEYS: SECRET_KEYS,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_ALLOW_HTTP: 'true',
    PORTAL_SIGN_UPS_PER_HOUR: '100000',
    PORTAL_PASSWORD_COST: '10',
    ...env,
  });
  const port = await waitUntil('the portal to listen', () => {
    if (child.child.exitCode !== null)
      throw new Error(`the portal ended: ${child.stderr()}${child.stdout()}`);
    return /"httpPort":(\d+)/.exec(child.stdout())?.[1];
  });
  return {
    url: `http://127.0.0.1:${port}`,
    process: child,
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

export type Answer<T> = { readonly status: number; readonly headers: Headers; readonly body: T };

export type PortalClient = {
  readonly email: string;
  /** The cookie's value. */
  readonly token: () => string | undefined;
  /** Continues with another token, or with none. */
  readonly use: (token: string | undefined) => void;
  /** The same account at another portal of the same system. */
  readonly at: (url: string) => PortalClient;
  /** The same account, for a test that expects 503: it sends each request once. */
  readonly hasty: () => PortalClient;
  readonly get: <T>(path: string) => Promise<Answer<T>>;
  /** Writes like the page: from its own origin, with a new idempotency key. */
  readonly send: <T>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string | undefined>>,
  ) => Promise<Answer<T>>;
};

/** How long a request is sent again while its answer is 503: the store of a busy machine may be too
 * slow for a moment. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 200;

/** The password of all accounts in these tests. */
export const PASSWORD = 'correct horse battery';

/**
 * An HTTP client with a browser's cookie. It checks every answer against the OpenAPI document, and
 * throws if one is not as documented. It sends a request again, with the same idempotency key,
 * while the answer is 503.
 *
 * @param documented null for a portal of another version
 */
export function makePortalClient(
  url: string,
  email = `${randomUUID()}@example.com`,
  shared: { token?: string | undefined } = {},
  documented: OpenApiDocument | null = document,
  patienceMs = PATIENCE_MS,
): PortalClient {
  const askOnce = async <T>(
    method: string,
    path: string,
    init: { headers: Readonly<Record<string, string>>; body?: string },
  ): Promise<Answer<T>> => {
    const cookie = shared.token === undefined ? {} : { cookie: `rolecall_session=${shared.token}` };
    const response = await fetch(url + path, { method, ...init, headers: { ...cookie, ...init.headers } });
    for (const told of response.headers.getSetCookie()) {
      const [, value] = /^rolecall_session=([^;]*)/.exec(told) ?? [];
      if (value !== undefined) shared.token = value === '' ? undefined : value;
    }
    const text = await response.text();
    const body = (text === '' ? undefined : JSON.parse(text)) as T;
    const type = response.headers.get('content-type');
    const [pathname = ''] = path.split('?');
    const answer = { method: method.toLowerCase(), path: pathname, status: response.status, type, body };
    const fault = documented === null ? undefined : faultOf(documented, answer);
    if (fault !== undefined) throw new Error(`${fault}\n${text}`);
    return { status: response.status, headers: response.headers, body };
  };
  const ask = async <T>(...request: Parameters<typeof askOnce>): Promise<Answer<T>> => {
    for (const giveUpAtMs = performance.now() + patienceMs; ; ) {
      const answer = await askOnce<T>(...request);
      if (answer.status !== 503 || performance.now() >= giveUpAtMs) return answer;
      await delay(RETRY_MS);
    }
  };
  return {
    email,
    token: () => shared.token,
    use(token) {
      shared.token = token;
    },
    at: (other) => makePortalClient(other, email, shared, documented, patienceMs),
    hasty: () => makePortalClient(url, email, shared, documented, 0),
    get: (path) => ask('GET', path, { headers: {} }),
    send: (method, path, body, headers = {}) => {
      const all = {
        origin: url,
        'idempotency-key': randomUUID() as string,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      };
      const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
      return ask(method, path, {
        headers: Object.fromEntries(given),
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
    },
  };
}

/** Signs up a new account and returns its client. */
export async function signUp(url: string): Promise<PortalClient> {
  const client = makePortalClient(url);
  const credentials = { email: client.email, password: PASSWORD };
  await client.send('POST', '/api/sign-up', credentials);
  await client.send('POST', '/api/sign-in', credentials);
  return client;
}

export type CreatedApp = {
  readonly clientId: string;
  readonly keyId: string;
  readonly apiKey: string;
  readonly webhookSecret: string;
};

export const createApp = async (client: PortalClient, name = 'An app'): Promise<CreatedApp> =>
  (await client.send<CreatedApp>('POST', '/api/apps', { name })).body;
