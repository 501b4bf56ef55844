import type { Fault } from '#shared/contracts/fault.ts';
import { ServiceError } from '#shared/errors.ts';
import { retryAfter } from '#shared/http/retry-after.ts';

/** Every problem the portal can answer with: the one place where a code gets its status and title. */
export const PROBLEMS = {
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'idempotency-key-missing': { status: 400, title: 'The Idempotency-Key header is missing or not a UUID' },
  'session-missing': { status: 401, title: 'Nobody is signed in' },
  'credentials-invalid': { status: 401, title: 'E-mail address and password do not match' },
  'origin-refused': { status: 403, title: 'The request does not come from the portal' },
  'operator-required': { status: 403, title: 'Only operators may do this' },
  'not-found': { status: 404, title: 'There is no such thing' },
  'route-not-found': { status: 404, title: 'There is nothing at this path' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'limit-reached': { status: 409, title: "The tier's limit is reached" },
  conflict: { status: 409, title: 'This cannot be done in its present state' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'media-type-unsupported': { status: 415, title: 'The media type is not supported' },
  'validation-failed': { status: 422, title: 'The request is not valid' },
  'callback-url-refused': { status: 422, title: 'The callback URL is refused' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another request' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  'gateway-unavailable': { status: 502, title: 'The gateway did not answer' },
  'dependency-unavailable': { status: 503, title: 'A part of the service is not available' },
  overloaded: { status: 503, title: 'The service is overloaded' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

type ProblemOptions = {
  readonly errors?: readonly Fault[];
  readonly headers?: Readonly<Record<string, string>>;
};

/** An answer that is not the wished one. Its detail is read by people: never a stack or an internal name. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly Fault[] | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, { errors, headers = {} }: ProblemOptions = {}) {
    super(detail);
    this.code = code;
    this.errors = errors;
    this.headers = headers;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** A body or query that is not valid. A single fault puts its own code on top where that is a problem's. */
export function invalid(errors: readonly Fault[]): Problem {
  const only = errors.length === 1 ? errors[0] : undefined;
  const code = only?.code === 'callback-url-refused' ? only.code : 'validation-failed';
  return new Problem(code, only?.detail ?? `The request has ${errors.length} faults.`, { errors });
}

export const typeOf = (code: ProblemCode): string => `urn:rolecall:problem:${code}`;

/** The body of a problem as RFC 9457 has it. */
export function problemBody({ code, message: detail, errors }: Problem, instance: string): string {
  const { title, status } = PROBLEMS[code];
  return JSON.stringify({
    type: typeOf(code),
    title,
    status,
    detail,
    instance,
    code,
    ...(errors && { errors }),
  });
}

const AWAY = 'A part of the service is not available; try again in a moment.';

/**
 * The problem that a failure is to the page. What nobody foresaw is `internal`: its own words stay inside.
 *
 * @example
 * problemOf(new ServiceError('store-unavailable', '…')).status; // 503
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof ServiceError)) return internal();
  switch (error.code) {
    case 'not-found':
      return new Problem('not-found', 'It does not exist, or is not yours.');
    case 'limit-reached':
    case 'conflict':
      return new Problem(error.code, `${error.message[0]?.toUpperCase()}${error.message.slice(1)}.`);
    case 'store-unavailable':
    case 'view-rebuilding':
    case 'broker-unavailable':
    case 'publish-unknown':
      return new Problem('dependency-unavailable', AWAY, { headers: retryAfter(1_000) });
    case 'overloaded':
      return new Problem('overloaded', 'Too much is going on; try again in a moment.', {
        headers: retryAfter(1_000),
      });
    default:
      return internal();
  }
}

const internal = () => new Problem('internal', 'This could not be done because of a bug of ours.');
