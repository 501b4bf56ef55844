/** Longer than the slowest answer of the portal: a tried check may take the gateway's whole deadline. */
const ANSWER_MS_MAX = 40_000;

const sessionListeners = new Set();

/** Calls `listener` when an answer says that the session has ended. Returns the function that stops it. */
export function onSessionLost(listener) {
  sessionListeners.add(listener);
  return () => sessionListeners.delete(listener);
}

/**
 * The failure of a request: a problem document of the portal, or no answer at all (`status` 0, code
 * `connection-lost`).
 */
export class ApiError extends Error {
  constructor({ status, code, detail, errors = [], retryAfterS }) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.retryAfterS = retryAfterS;
  }

  /** Whether the write may have happened although no answer says so. */
  get isUncertain() {
    return this.status === 0 || this.status >= 500 || this.code === 'idempotency-key-in-use';
  }

  /** The faults of the fields, by JSON pointer. */
  get faults() {
    return Object.fromEntries(this.errors.map(({ pointer, detail }) => [pointer, detail]));
  }
}

/**
 * Asks the portal's API and returns the parsed answer (`undefined` without a body).
 *
 * @throws ApiError
 *
 * @example
 * const apps = await ask('GET', '/api/apps');
 * await ask('POST', '/api/apps', { body: { name: 'Shop' }, idempotencyKey: makeUuid() });
 * await ask('POST', path, { body: new Blob([lines], { type: 'application/x-ndjson' }), apiKey, timeoutMs: 120_000 });
 */
export async function ask(method, path, { body, idempotencyKey, apiKey, timeoutMs = ANSWER_MS_MAX } = {}) {
  const headers = { accept: 'application/json' };
  // A blob is sent as it is, with its own type.
  const isWhole = body === undefined || body instanceof Blob;
  if (!isWhole) headers['content-type'] = 'application/json';
  if (apiKey !== undefined) headers['x-api-key'] = apiKey;
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  const response = await send(path, {
    method,
    headers,
    body: isWhole ? body : JSON.stringify(body),
    credentials: 'same-origin',
    signal: AbortSignal.timeout(timeoutMs),
  });
  const answer = parse(response.text);
  if (response.status < 400) return answer;
  const error = problemOf(response, answer);
  if (error.code === 'session-missing') for (const listener of sessionListeners) listener();
  throw error;
}

/** A read that was lost is asked again at once: it changes nothing. */
const READ_TRIES_MAX = 3;

async function send(path, options) {
  for (let tries = 1; ; tries++) {
    const answer = await trySend(path, options);
    if (answer) return answer;
    if (options.method !== 'GET' || tries >= READ_TRIES_MAX)
      throw new ApiError({ status: 0, code: 'connection-lost', detail: 'The connection was lost.' });
  }
}

/** Undefined if no answer came, or only a part of it. */
async function trySend(path, options) {
  try {
    const response = await fetch(path, options);
    const retryAfterS = Number(response.headers.get('retry-after')) || undefined;
    return { status: response.status, text: await response.text(), retryAfterS };
  } catch {
    return undefined;
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const problemOf = ({ status, retryAfterS }, answer) =>
  new ApiError({
    status,
    code: String(answer?.code ?? 'internal'),
    detail: String(answer?.detail ?? answer?.title ?? 'The portal could not answer. Please try again.'),
    errors: Array.isArray(answer?.errors) ? answer.errors : [],
    retryAfterS,
  });

/** A version 4 UUID. `crypto.randomUUID` is missing on pages that came over plain HTTP. */
export function makeUuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
