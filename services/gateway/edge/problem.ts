import type { Fault } from '#shared/contracts/fault.ts';
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

/** Every problem of the gateway: the only place where a code gets its status and title. */
export const PROBLEMS = {
  ...COMMON_PROBLEMS,
  'body-timeout': { status: 408, title: 'The body did not arrive in time' },
  'malformed-request': { status: 400, title: 'The HTTP request is malformed' },
  'api-key-missing': { status: 401, title: 'The x-api-key header is missing' },
  'api-key-invalid': { status: 401, title: 'The API key is not valid' },
  'rule-set-not-found': { status: 404, title: 'There is no such rule set' },
  'watch-not-found': { status: 404, title: 'There is no such watch' },
  'member-not-found': { status: 404, title: 'There is no such member' },
  'request-not-found': { status: 404, title: 'There is no such request' },
  'idempotency-key-in-use': { status: 409, title: 'The request with this idempotency key is still running' },
  'limit-reached': { status: 409, title: "The tier's limit is reached" },
  'rule-set-in-use': { status: 409, title: 'A watch refers to the rule set' },
  'request-expired': { status: 410, title: 'The result is no longer kept' },
  'version-conflict': { status: 412, title: 'The stored version is not the expected one' },
  'account-format-unsupported': { status: 422, title: 'The account must be a plain address' },
  'rule-type-unsupported': { status: 422, title: 'The rule type is not supported' },
  'function-unsupported': { status: 422, title: 'The function signature is not supported' },
  'rule-set-unknown': { status: 422, title: 'There is no such rule set' },
  'chain-unsupported': { status: 422, title: 'The chain is not supported' },
  'min-token-zero': { status: 422, title: 'A minimum of zero would always grant' },
  'proof-unavailable': { status: 422, title: 'This service does not sign verdicts' },
  'too-many-entries': { status: 422, title: 'The request has too many entries' },
  'batch-too-large': { status: 422, title: 'The batch is too large' },
  'too-many-reads': { status: 422, title: 'The check needs too many reads' },
  'idempotency-key-reused': { status: 422, title: 'The idempotency key belongs to another body' },
  'monthly-quota-exceeded': { status: 429, title: "The month's quota is used up" },
  'headers-too-large': { status: 431, title: 'The headers are too large' },
  'evaluation-unavailable': { status: 503, title: 'No rule could be decided' },
  'deadline-exceeded': { status: 504, title: 'The check did not finish in time' },
} as const satisfies ProblemTable;

export type ProblemCode = keyof typeof PROBLEMS;

export const typeOf = (code: ProblemCode): string => problemType(code, PROBLEMS[code].status);

/** An error answer of the gateway. */
export class Problem extends BaseProblem<ProblemCode> {
  constructor(code: ProblemCode, detail: string, options?: ProblemOptions) {
    super(PROBLEMS, code, detail, options);
  }
}

/** A dependency did not answer. Nothing was accepted unless the detail says otherwise. */
export const dependencyUnavailable = (detail: string): Problem =>
  new Problem('dependency-unavailable', detail, { headers: RETRY_SOON });

/** A bound of this gateway, or of the client app, is reached for now. Nothing was accepted. */
export const overloaded = (
  detail: string,
  {
    retryAfterMs = 1_000,
    headers = {},
  }: { retryAfterMs?: number; headers?: Readonly<Record<string, string>> } = {},
): Problem => new Problem('overloaded', detail, { headers: { ...retryAfter(retryAfterMs), ...headers } });

/** The account has made the system keep what it may on one day (UTC). */
export const bytesExceeded = (retryAfterMs: number): Problem =>
  new Problem('rate-limited', BYTES_EXCEEDED, {
    members: { 'violated-policies': ['bytes-per-day'] },
    headers: retryAfter(retryAfterMs),
  });

/**
 * The problem of an invalid request, with every fault listed.
 *
 * @example
 * invalidBody([{ pointer: '/rules/0/chainId', code: 'chain-unsupported', detail: '…' }]).code; // 'chain-unsupported'
 */
export function invalidBody(faults: readonly Fault[]): Problem {
  const { code, detail, members } = describeFaults(faults, PROBLEMS);
  return new Problem(code, detail, { members });
}
