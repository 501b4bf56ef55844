import type { Response } from 'express';
import type { Fault } from '#shared/contracts/fault.ts';
import { ServiceError, sentenceOf } from '#shared/errors.ts';
import { instanceOf } from './exchange-trace.ts';

/** Every problem of Rolecall's HTTP services: the only place where a code gets its status and
 * title. */
export const PROBLEMS = {
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'scope-not-approved': { status: 403, title: 'The token-gating scope is not approved' },
  'client-app-suspended': { status: 403, title: 'The client app is suspended' },
  'sign-in-refused': { status: 403, title: 'The sign-in does not prove the wallet' },
  'route-not-found': { status: 404, title: 'The path does not exist' },
  'method-not-allowed': { status: 405, title: 'The method is not allowed here' },
  'request-timeout': { status: 408, title: 'The request did not arrive in time' },
  'body-too-large': { status: 413, title: 'The body is too large' },
  'media-type-unsupported': { status: 415, title: 'The media type is not supported' },
  'validation-failed': { status: 422, title: 'The request is not valid' },
  'callback-url-refused': { status: 422, title: 'The callback URL is refused' },
  'rate-limited': { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  'dependency-unavailable': { status: 503, title: 'A part of the service is not available' },
  overloaded: { status: 503, title: 'The service is overloaded' },
  'limit-reached': { status: 409, title: "The tier's limit is reached" },
  'rule-set-in-use': { status: 409, title: 'A watch refers to the rule set' },
  'version-conflict': { status: 412, title: 'The stored version is not the expected one' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another body' },
  // Of the gateway.
  'permission-missing': { status: 403, title: 'The API key lacks a permission' },
  'body-timeout': { status: 408, title: 'The body did not arrive in time' },
  'malformed-request': { status: 400, title: 'The HTTP request is malformed' },
  'api-key-missing': { status: 401, title: 'The x-api-key header is missing' },
  'api-key-invalid': { status: 401, title: 'The API key is not valid' },
  'rule-set-not-found': { status: 404, title: 'There is no such rule set' },
  'watch-not-found': { status: 404, title: 'There is no such watch' },
  'member-not-found': { status: 404, title: 'There is no such member' },
  'delivery-not-found': { status: 404, title: 'There is no such delivery' },
  'request-not-found': { status: 404, title: 'There is no such request' },
  'idempotency-key-in-use': { status: 409, title: 'The request with this idempotency key is still running' },
  'delivery-pending': { status: 409, title: 'The delivery has not ended' },
  'request-expired': { status: 410, title: 'The result is no longer kept' },
  'account-format-unsupported': { status: 422, title: 'The account must be a plain address' },
  'rule-type-unsupported': { status: 422, title: 'The rule type is not supported' },
  'function-unsupported': { status: 422, title: 'The function signature is not supported' },
  'rule-set-unknown': { status: 422, title: 'There is no such rule set' },
  'watch-unknown': { status: 422, title: 'There is no such watch' },
  'chain-unsupported': { status: 422, title: 'The chain is not supported' },
  'min-token-zero': { status: 422, title: 'A minimum of zero would always grant' },
  'proof-unavailable': { status: 422, title: 'This service does not sign verdicts' },
  'sign-in-malformed': { status: 422, title: 'The sign-in is malformed' },
  'too-many-entries': { status: 422, title: 'The request has too many entries' },
  'batch-too-large': { status: 422, title: 'The batch is too large' },
  'too-many-reads': { status: 422, title: 'The check needs too many reads' },
  'monthly-quota-exceeded': { status: 429, title: "The month's quota is used up" },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  'evaluation-unavailable': { status: 503, title: 'No rule could be decided' },
  'deadline-exceeded': { status: 504, title: 'The check did not finish in time' },
  // Of the developer portal.
  'idempotency-key-missing': { status: 400, title: 'The Idempotency-Key header is missing or not a UUID' },
  'session-missing': { status: 401, title: 'Not signed in' },
  'credentials-invalid': { status: 401, title: 'E-mail address and password do not match' },
  'code-required': { status: 401, title: 'This account needs a code as well' },
  'code-invalid': { status: 401, title: 'The code is wrong or was used' },
  'origin-refused': { status: 403, title: 'The request does not come from the portal' },
  'role-required': { status: 403, title: 'The role in the app does not allow this' },
  'operator-required': { status: 403, title: 'Only operators may do this' },
  'sign-up-closed': { status: 403, title: 'Signing up is not open to everybody here' },
  'two-factor-required': { status: 403, title: 'An operator needs a second factor here' },
  'not-found': { status: 404, title: 'The resource does not exist' },
  conflict: { status: 409, title: 'The present state of the resource does not allow this' },
  'reset-link-invalid': { status: 410, title: 'The link is wrong, used or expired' },
  'gateway-unavailable': { status: 502, title: 'The gateway did not answer' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly title: string }>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** The type that IANA registers for exceeded quotas; every other problem has a type of its own. */
const QUOTA_EXCEEDED_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
const TOO_MANY_REQUESTS = 429;

export const typeOf = (code: ProblemCode): string =>
  PROBLEMS[code].status === TOO_MANY_REQUESTS ? QUOTA_EXCEEDED_TYPE : `urn:rolecall:problem:${code}`;

/** The header that says when to come back: whole seconds, rounded up, at least one. */
export const retryAfter = (ms: number): { 'retry-after': string } => ({
  'retry-after': String(Math.max(1, Math.ceil(ms / 1000))),
});

type ProblemOptions = {
  /** Members in addition to the standard ones: `errors`, `requestId`, `violated-policies`. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where an operation has another status for the code. */
  readonly status?: number;
};

/**
 * An error answer. A handler throws it; the app writes it as `application/problem+json`. Clients
 * read its detail: it never holds a stack, a library's text, an internal name or a secret.
 */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly status: number;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ProblemCode, detail: string, options: ProblemOptions = {}) {
    const { members = {}, headers = {}, status = PROBLEMS[code].status } = options;
    super(detail);
    this.code = code;
    this.status = status;
    this.members = members;
    this.headers = headers;
  }
}

export function problemBody({ code, status, message: detail, members }: Problem, instance: string): string {
  const { title } = PROBLEMS[code];
  return JSON.stringify({ type: typeOf(code), title, status, detail, instance, code, ...members });
}

/** The document of a problem in an exchange; its instance is the request's id or trace. */
export const problemAnswer = (problem: Problem, response: Response): string =>
  problemBody(problem, instanceOf(response, problem.members['requestId']));

/** A second: most dependencies and queues recover within it. */
const RETRY_SOON = retryAfter(1_000);

/** A dependency did not answer. Nothing was accepted unless the detail says otherwise. */
export const dependencyUnavailable = (detail: string): Problem =>
  new Problem('dependency-unavailable', detail, { headers: RETRY_SOON });

/** A bound of the service, or of its caller, is reached for now. Nothing was accepted. */
export const overloaded = (detail: string, headers: ProblemOptions['headers'] = {}): Problem =>
  new Problem('overloaded', detail, { headers: { ...RETRY_SOON, ...headers } });

/** The account has made the system keep what it may on one day (UTC). */
export const bytesExceeded = (retryAfterMs: number): Problem =>
  new Problem(
    'rate-limited',
    'The apps of this account have written as many bytes as they may on one day (UTC); retry after the seconds in Retry-After.',
    { members: { 'violated-policies': ['bytes-per-day'] }, headers: retryAfter(retryAfterMs) },
  );

/** The detail for all faults. It says the first, because logs often keep the detail alone. */
export function describeFaults(subject: string, faults: readonly Fault[]): string {
  const [first] = faults;
  const many = faults.length > 1 ? `${subject} has ${faults.length} faults; the first: ` : '';
  return `${many}${first?.detail ?? ''}`;
}

export const validationFailed = (faults: readonly Fault[]): Problem =>
  new Problem('validation-failed', describeFaults('The request', faults), { members: { errors: faults } });

/**
 * As `validationFailed`, but a single fault whose code is a problem code puts that code on top.
 *
 * @example
 * invalidBody([{ pointer: '/rules/0/chainId', code: 'chain-unsupported', detail: '…' }]).code; // 'chain-unsupported'
 */
export function invalidBody(faults: readonly Fault[]): Problem {
  const [only] = faults;
  return only && faults.length === 1 && Object.hasOwn(PROBLEMS, only.code)
    ? new Problem(only.code as ProblemCode, only.detail, { members: { errors: faults } })
    : validationFailed(faults);
}

/**
 * The problem of an error. An unexpected error is `internal`, and its own message is not shown.
 *
 * @param own the problems of one service, which come first
 * @example
 * problemOf(new ServiceError('store-unavailable', '…')).status; // 503
 */
export function problemOf(error: unknown, own?: (error: ServiceError) => Problem | undefined): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof ServiceError)) return internal();
  return own?.(error) ?? commonProblemOf(error);
}

function commonProblemOf(error: ServiceError): Problem {
  switch (error.code) {
    case 'limit-reached':
    case 'rule-set-in-use':
    case 'watch-not-found':
    case 'version-conflict':
    case 'conflict':
      return new Problem(error.code, sentenceOf(error));
    case 'rate-limited':
      return new Problem('rate-limited', sentenceOf(error), { headers: retryAfter(error.retryAfterMs ?? 0) });
    case 'bytes-exceeded':
      return bytesExceeded(error.retryAfterMs ?? 0);
    case 'store-unavailable':
    case 'view-rebuilding':
      return dependencyUnavailable('A part of the service is not available; nothing was accepted.');
    case 'broker-unavailable':
      return dependencyUnavailable('The request could not be stored; it was not accepted.');
    case 'publish-unknown':
      return dependencyUnavailable(
        'It is not known whether the request was accepted; send it again, with its Idempotency-Key if it had one.',
      );
    case 'overloaded':
      return overloaded(`${sentenceOf(error)} Retry after the seconds in Retry-After.`);
    default:
      return internal();
  }
}

const internal = (): Problem =>
  new Problem('internal', 'The request could not be answered because of a bug of ours.');
