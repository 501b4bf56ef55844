import type { Fault } from '#shared/contracts/fault.ts';
import { retryAfter } from '#shared/http/retry-after.ts';

/** Every problem the gateway can answer with: the one place where a code gets its status and title. */
export const PROBLEMS = {
  'malformed-request': { status: 400, title: 'The HTTP request is malformed' },
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'api-key-missing': { status: 401, title: 'The x-api-key header is missing' },
  'api-key-invalid': { status: 401, title: 'The API key is not valid' },
  'scope-not-approved': { status: 403, title: 'The token-gating scope is not approved' },
  'client-app-suspended': { status: 403, title: 'The client app is suspended' },
  'route-not-found': { status: 404, title: 'There is nothing at this path' },
  'request-not-found': { status: 404, title: 'There is no such request' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'idempotency-key-in-use': { status: 409, title: 'The request with this idempotency key is still running' },
  'request-expired': { status: 410, title: 'The result is no longer kept' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'media-type-unsupported': { status: 415, title: 'The media type is not supported' },
  'validation-failed': { status: 422, title: 'The request is not valid' },
  'account-format-unsupported': { status: 422, title: 'The account must be a plain address' },
  'rule-type-unsupported': { status: 422, title: 'The rule type is not supported' },
  'chain-unsupported': { status: 422, title: 'The chain is not supported' },
  'min-token-zero': { status: 422, title: 'A minimum of zero would always grant' },
  'too-many-reads': { status: 422, title: 'The check needs too many reads' },
  'callback-url-refused': { status: 422, title: 'The callback URL is refused' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another body' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  'monthly-quota-exceeded': { status: 429, title: "The month's quota is used up" },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  'dependency-unavailable': { status: 503, title: 'A part of the service is not available' },
  overloaded: { status: 503, title: 'The service is overloaded' },
  'evaluation-unavailable': { status: 503, title: 'No rule could be decided' },
  'deadline-exceeded': { status: 504, title: 'The check was not done in time' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The type that IANA registers for exceeded quotas; all other problems are named by their code. */
const QUOTA_EXCEEDED_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

export const typeOf = (code: ProblemCode): string =>
  PROBLEMS[code].status === 429 ? QUOTA_EXCEEDED_TYPE : `urn:rolecall:problem:${code}`;

export const isProblemCode = (text: string): text is ProblemCode => Object.hasOwn(PROBLEMS, text);

type ProblemOptions = {
  /** Members in addition to the standard ones: `errors`, `requestId`, `violated-policies`. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * An error answer. A handler throws it; the app writes it as `application/problem+json`. Clients read its detail: it never
 * holds a stack, a library's text, an internal name or a secret.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, { members = {}, headers = {} }: ProblemOptions = {}) {
    super(detail);
    this.code = code;
    this.members = members;
    this.headers = headers;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** A dependency did not answer. Nothing was accepted unless the detail says otherwise. */
export const dependencyUnavailable = (detail: string): Problem =>
  new Problem('dependency-unavailable', detail, { headers: retryAfter(1_000) });

/**
 * The problem of an invalid body, with every fault listed. A single fault whose code is a problem code puts that code on
 * top; otherwise the code is `validation-failed`.
 *
 * @example
 * invalidBody([{ pointer: '/rules/0/chainId', code: 'chain-unsupported', detail: '…' }]).code; // 'chain-unsupported'
 */
export function invalidBody(faults: readonly Fault[]): Problem {
  const only = faults.length === 1 ? faults[0] : undefined;
  const code = only && isProblemCode(only.code) ? only.code : 'validation-failed';
  const detail = only ? only.detail : `The request has ${faults.length} faults.`;
  return new Problem(code, detail, { members: { errors: faults } });
}

/** A problem document (RFC 9457). */
export function problemBody(problem: Problem, instance: string): string {
  const { title, status } = PROBLEMS[problem.code];
  const { code, message: detail } = problem;
  return JSON.stringify({ type: typeOf(code), title, status, detail, instance, code, ...problem.members });
}
