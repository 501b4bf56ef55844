/** @import { Answer, Call, Params, Query, Sent } from './types.ts' */

/** Longer than the slowest answer of the portal: a tried check may take the gateway's whole
 * deadline. */
const ANSWER_MS_MAX = 40_000;
/** A read that was lost is asked again at once: it changes nothing. */
const READ_TRIES_MAX = 3;

/** @type {Set<() => void>} */
const sessionListeners = new Set();

/**
 * Calls `listener` when an answer says that the session has ended. Returns the function that stops
 * it.
 * @param {() => void} listener
 */
export function onSessionLost(listener) {
  sessionListeners.add(listener);
  return () => void sessionListeners.delete(listener);
}

/** The failure of a request: a problem document, or no answer at all (`status` 0, code
 * `connection-lost`). */
export class ApiError extends Error {
  /** @param {number} status @param {any} problem the parsed answer, or anything else */
  constructor(status, problem) {
    super(String(problem?.detail ?? problem?.title ?? 'The portal could not answer. Please try again.'));
    this.status = status;
    this.code = String(problem?.code ?? 'internal');
    /** @type {{ pointer: string, detail: string }[]} */
    this.errors = Array.isArray(problem?.errors) ? problem.errors : [];
  }

  /** Whether the write may have happened although no answer says so. */
  get isUncertain() {
    return this.status === 0 || this.status >= 500 || this.code === 'idempotency-key-in-use';
  }

  /** The faults of the fields, by JSON pointer. @returns {Record<string, string>} */
  get faults() {
    return Object.fromEntries(this.errors.map(({ pointer, detail }) => [pointer, detail]));
  }
}

/**
 * A fault that the page itself finds in a field before it sends anything.
 * @param {string} pointer of the field
 * @param {string} detail
 */
export const faultAt = (pointer, detail) => new ApiError(422, { detail, errors: [{ pointer, detail }] });

/**
 * The address of an operation: its path with the values of its named parts, and its query without
 * empty values.
 * @template {Call} C
 * @param {C} call
 * @param {Params<C> | undefined} params
 * @param {Query<C>} [query]
 *
 * @example
 * addressOf('GET /api/apps/:clientId/keys', { clientId: 'a b' }); // '/api/apps/a%20b/keys'
 */
export function addressOf(call, params, query = {}) {
  /** @type {Record<string, string>} */
  const parts = params ?? {};
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
 * @template {Call} C
 * @param {C} call
 * @param {Sent<C>} [sent] its path's named parts, its query and body, and what is sent with them
 * @returns {Promise<Answer<C>>}
 * @throws ApiError
 *
 * @example
 * const apps = await ask('GET /api/apps');
 * await ask('POST /api/apps', { body: { name: 'Shop' }, idempotencyKey: makeUuid() });
 */
export async function ask(call, sent) {
  /** @type {Partial<Sent<C> & { params: Params<C> }>} */
  const { params, query, body, idempotencyKey, apiKey, timeoutMs = ANSWER_MS_MAX } = sent ?? {};
  const method = call.slice(0, call.indexOf(' '));
  const isWhole = body === undefined || body instanceof Blob;
  const response = await send(addressOf(call, params, query), {
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
  if (error.code === 'session-missing') for (const listener of sessionListeners) listener();
  throw error;
}

/** @param {string} address @param {RequestInit} options */
async function send(address, options) {
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

/** @param {string} text */
function parse(text) {
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
