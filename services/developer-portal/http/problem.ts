import type { Fault } from '#shared/contracts/fault.ts';
import { ServiceError, sentenceOf } from '#shared/errors.ts';
import {
  BaseProblem,
  BYTES_EXCEEDED,
  COMMON_PROBLEMS,
  describeFaults,
  type ProblemOptions,
  type ProblemTable,
  problemType,
  RETRY_SOON,
} from '#shared/http/problem.ts';
import { retryAfter } from '#shared/http/retry-after.ts';

/** Every problem of the portal: the only place where a code gets its status and title. */
export const PROBLEMS = {
  ...COMMON_PROBLEMS,
  'idempotency-key-missing': { status: 400, title: 'The Idempotency-Key header is missing or not a UUID' },
  'session-missing': { status: 401, title: 'Not signed in' },
  'credentials-invalid': { status: 401, title: 'E-mail address and password do not match' },
  'code-required': { status: 401, title: 'This account needs a code as well' },
  'code-invalid': { status: 401, title: 'The code is wrong or was used' },
  'origin-refused': { status: 403, title: 'The request does not come from the portal' },
  'role-required': { status: 403, title: 'The role in the app does not allow this' },
  'operator-required': { status: 403, title: 'Only operators may do this' },
  'not-found': { status: 404, title: 'The resource does not exist' },
  'reset-link-invalid': { status: 410, title: 'The link is wrong, used or expired' },
  'limit-reached': { status: 409, title: "The tier's limit is reached" },
  'rule-set-in-use': { status: 409, title: 'A watch refers to the rule set' },
  'version-conflict': { status: 412, title: 'The resource was changed by another write' },
  conflict: { status: 409, title: 'The present state of the resource does not allow this' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another request' },
  'gateway-unavailable': { status: 502, title: 'The gateway did not answer' },
} as const satisfies ProblemTable;

export type ProblemCode = keyof typeof PROBLEMS;

export const typeOf = (code: ProblemCode): string => problemType(code, PROBLEMS[code].status);

/** An error answer of the portal. People read its detail. */
export class Problem extends BaseProblem<ProblemCode> {
  constructor(code: ProblemCode, detail: string, options?: ProblemOptions) {
    super(PROBLEMS, code, detail, options);
  }
}

/** The problem of an invalid body or query, with every fault listed. */
export function invalid(faults: readonly Fault[]): Problem {
  const { code, detail, members } = describeFaults(faults, PROBLEMS);
  return new Problem(code, detail, { members });
}

const AWAY = 'A part of the service is not available; try again in a moment.';

/**
 * The problem document for an error. An unexpected error is `internal`, and its own message is not shown.
 *
 * @example
 * problemOf(new ServiceError('store-unavailable', '…')).status; // 503
 */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (!(error instanceof ServiceError)) return internal();
  switch (error.code) {
    case 'not-found':
    case 'watch-not-found':
      return new Problem('not-found', 'The resource does not exist, or belongs to another account.');
    case 'limit-reached':
    case 'rule-set-in-use':
    case 'version-conflict':
    case 'conflict':
      return new Problem(error.code, sentenceOf(error));
    case 'rate-limited':
      return new Problem('rate-limited', sentenceOf(error), { headers: retryAfter(error.retryAfterMs ?? 0) });
    case 'bytes-exceeded':
      return new Problem('rate-limited', BYTES_EXCEEDED, {
        members: { 'violated-policies': ['bytes-per-day'] },
        headers: retryAfter(error.retryAfterMs ?? 0),
      });
    case 'store-unavailable':
    case 'view-rebuilding':
    case 'broker-unavailable':
    case 'publish-unknown':
      return new Problem('dependency-unavailable', AWAY, { headers: RETRY_SOON });
    case 'overloaded':
      return new Problem('overloaded', 'Too many requests are in flight; try again in a moment.', {
        headers: RETRY_SOON,
      });
    default:
      return internal();
  }
}

const internal = () => new Problem('internal', 'This could not be done because of a bug of ours.');
