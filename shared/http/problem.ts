import type { Fault } from '#shared/contracts/fault.ts';
import { retryAfter } from './retry-after.ts';

/** The status and title of each problem code. */
export type ProblemTable = Readonly<Record<string, { readonly status: number; readonly title: string }>>;

/** The problems that every HTTP service of Rolecall can answer with. */
export const COMMON_PROBLEMS = {
  'malformed-json': { status: 400, title: 'The body is not JSON' },
  'scope-not-approved': { status: 403, title: 'The token-gating scope is not approved' },
  'client-app-suspended': { status: 403, title: 'The client app is suspended' },
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
} as const satisfies ProblemTable;

export const BYTES_EXCEEDED =
  'The apps of this account have written as many bytes as they may on one day (UTC); retry after the seconds in Retry-After.';

/** The type that IANA registers for exceeded quotas; every other problem has a type of its own. */
const QUOTA_EXCEEDED_TYPE = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
const TOO_MANY_REQUESTS = 429;

export const problemType = (code: string, status: number): string =>
  status === TOO_MANY_REQUESTS ? QUOTA_EXCEEDED_TYPE : `urn:rolecall:problem:${code}`;

export type ProblemOptions = {
  /** Members in addition to the standard ones: `errors`, `requestId`, `violated-policies`. */
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/**
 * An error answer. A handler throws it; the app writes it as `application/problem+json`. Clients read its detail: it never
 * holds a stack, a library's text, an internal name or a secret.
 *
 * A service derives its own class, with the codes of its own table.
 */
export class BaseProblem<Code extends string> extends Error {
  override readonly name = 'Problem';
  readonly code: Code;
  readonly status: number;
  readonly title: string;
  readonly members: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    table: Readonly<Record<Code, ProblemTable[string]>>,
    code: Code,
    detail: string,
    { members = {}, headers = {} }: ProblemOptions = {},
  ) {
    super(detail);
    this.code = code;
    this.status = table[code].status;
    this.title = table[code].title;
    this.members = members;
    this.headers = headers;
  }
}

/** A problem document (RFC 9457). */
export function problemBody(problem: BaseProblem<string>, instance: string): string {
  const { code, status, title, message: detail, members } = problem;
  return JSON.stringify({
    type: problemType(code, status),
    title,
    status,
    detail,
    instance,
    code,
    ...members,
  });
}

/**
 * The code, detail and members of the problem of an invalid request, with every fault listed. A single fault whose code is
 * a problem code of the service puts that code on top; otherwise the code is `validation-failed`.
 *
 * @example
 * describeFaults([{ pointer: '/url', code: 'callback-url-refused', detail: '…' }], PROBLEMS).code; // 'callback-url-refused'
 */
export function describeFaults<Code extends string>(
  faults: readonly Fault[],
  table: Readonly<Record<Code, unknown>>,
): {
  readonly code: Code | 'validation-failed';
  readonly detail: string;
  readonly members: { readonly errors: readonly Fault[] };
} {
  const only = faults.length === 1 ? faults[0] : undefined;
  const code = only && Object.hasOwn(table, only.code) ? (only.code as Code) : 'validation-failed';
  const detail = only ? only.detail : `The request has ${faults.length} faults.`;
  return { code, detail, members: { errors: faults } };
}

/** A second: most dependencies and queues recover within it. */
export const RETRY_SOON = retryAfter(1_000);
