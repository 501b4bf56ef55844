import type { z } from 'zod';
import type { Declared } from '../../http/operations.ts';

type ByCall = { [Id in keyof Declared as Declared[Id]['call']]: Declared[Id] };
type ParamOf<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamOf<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
type InputOf<C extends Call, Member extends string> = ByCall[C] extends {
  readonly [M in Member]: infer S extends z.ZodType;
}
  ? z.input<S>
  : undefined;

/** An operation of the portal's API as its table declares it: `GET /api/apps/:clientId`. */
export type Call = keyof ByCall;
export type Read = Extract<Call, `GET ${string}`>;
export type Params<C extends Call> = Readonly<Record<ParamOf<C>, string>>;
/** The parameters of the query; those without a value are not sent. */
export type Query<C extends Call> = {
  readonly [Name in keyof NonNullable<InputOf<C, 'query'>>]?: string | number | undefined;
};
export type Sent<C extends Call> = ([ParamOf<C>] extends [never]
  ? object
  : { readonly params: Params<C> }) & {
  readonly query?: Query<C>;
  /** A blob is sent as it is, with its own type. */
  readonly body?: InputOf<C, 'body'> | Blob;
  readonly idempotencyKey?: string | undefined;
  readonly apiKey?: string;
  readonly timeoutMs?: number;
};
export type Answer<C extends Call> = ByCall[C] extends { readonly answer: infer S extends z.ZodType }
  ? z.output<S>
  : undefined;

export type Account = Answer<'GET /api/session'>['account'];
export type Limits = Account['limits'];
export type App = Answer<'GET /api/apps/:clientId'>;
export type Key = App['keys'][number];
export type AuditEntry = Answer<'GET /api/audit'>[number] &
  Partial<Answer<'GET /api/operator/audit'>['entries'][number]>;

/** Longer than the slowest answer of the portal: a tried check may take the gateway's whole
 * deadline. */
const ANSWER_MS_MAX = 40_000;
/** A read that was lost is asked again at once: it changes nothing. */
const READ_TRIES_MAX = 3;

let sessionLost = () => {};

/** Calls `listener` when an answer says that the session has ended. */
export function onSessionLost(listener: () => void) {
  sessionLost = listener;
}

/** The failure of a request: a problem document, or no answer at all (`status` 0, code
 * `connection-lost`). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: readonly { pointer: string; detail: string }[];

  /** @param problem the parsed answer, or anything else */
  constructor(status: number, problem) {
    super(String(problem?.detail ?? problem?.title ?? 'The portal could not answer. Please try again.'));
    this.status = status;
    this.code = String(problem?.code ?? 'internal');
    this.errors = Array.isArray(problem?.errors) ? problem.errors : [];
  }

  /** Whether the write may have happened although no answer says so. */
  get isUncertain() {
    return this.status === 0 || this.status >= 500 || this.code === 'idempotency-key-in-use';
  }

  /** The faults of the fields, by JSON pointer. */
  get faults(): Record<string, string> {
    return Object.fromEntries(this.errors.map(({ pointer, detail }) => [pointer, detail]));
  }
}

/** A fault that the page itself finds in a field before it sends anything. */
export const faultAt = (pointer: string, detail: string) =>
  new ApiError(422, { detail, errors: [{ pointer, detail }] });

/**
 * The address of an operation: its path with the values of its named parts, and its query without
 * empty values.
 *
 * @example
 * addressOf('GET /api/apps/:clientId/keys', { clientId: 'a b' }); // '/api/apps/a%20b/keys'
 */
export function addressOf<C extends Call>(call: C, params: Params<C> | undefined, query: Query<C> = {}) {
  const parts: Record<string, string> = params ?? {};
  const path = call
    .slice(call.indexOf(' ') + 1)
    .replace(/:(\w+)/g, (_, name) => encodeURIComponent(parts[name] ?? ''));
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

/**
 * Calls an operation of the portal's API and returns the parsed answer (`undefined` without a
 * body).
 * @param sent its path's named parts, its query and body, and what is sent with them
 * @throws ApiError
 *
 * @example
 * const apps = await ask('GET /api/apps');
 * await ask('POST /api/apps', { body: { name: 'Shop' }, idempotencyKey: makeUuid() });
 */
export async function ask<C extends Call>(call: C, sent?: Sent<C>): Promise<Answer<C>> {
  const given: Partial<Sent<C> & { params: Params<C> }> = sent ?? {};
  const { params, query, body, idempotencyKey, apiKey, timeoutMs = ANSWER_MS_MAX } = given;
  const method = call.slice(0, call.indexOf(' '));
  const isWhole = body === undefined || body instanceof Blob;
  const response = await fetchWhole(addressOf(call, params, query), {
    method,
    headers: {
      accept: 'application/json',
      ...(!isWhole && { 'content-type': 'application/json' }),
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: isWhole ? body : JSON.stringify(body) }),
    credentials: 'same-origin',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = parse(response.text);
  if (response.status < 400) return answer;
  const error = new ApiError(response.status, answer);
  if (error.code === 'session-missing') sessionLost();
  throw error;
}

export const askFor = <C extends Read>(call: C, params: Params<C>, query?: Query<C>) =>
  ask(call, { params, query } as Sent<C>);

/** What a form sends to an operation: its values, or the body that is made of them, under its
 * idempotency key. */
export const sends =
  <C extends Call>(call: C, params: Params<C>, bodyOf: (values) => Sent<C>['body'] = (values) => values) =>
  (values?: object, idempotencyKey?: string): Promise<Answer<C>> =>
    ask(call, { params, body: bodyOf(values), idempotencyKey } as Sent<C>);

async function fetchWhole(address: string, options: RequestInit) {
  for (let tries = 1; ; tries++)
    try {
      const response = await fetch(address, options);
      return { status: response.status, text: await response.text() };
    } catch {
      // No answer came, or only a part of it.
      if (options.method !== 'GET' || tries >= READ_TRIES_MAX)
        throw new ApiError(0, { code: 'connection-lost', detail: 'The connection was lost.' });
    }
}

function parse(text: string) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A version 4 UUID. `crypto.randomUUID` is missing on pages that came over plain HTTP. */
export function makeUuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (Number(bytes[6]) & 0x0f) | 0x40;
  bytes[8] = (Number(bytes[8]) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
