import type { CheckResult, Fault, ProblemCode } from '../api-types.ts';

/** The codes of failures that the library itself found, beside those of the API. */
export type ClientErrorCode =
  /** An argument or option is wrong: `detail` names it. */
  | 'config-invalid'
  /** The gateway could not be reached. */
  | 'network-unavailable'
  /** The time allowed by `timeoutMs` is over. */
  | 'timeout'
  /** The answer is not Rolecall's: a wrong `baseUrl`, or a proxy in between. */
  | 'unexpected-answer'
  | 'webhook-invalid'
  | 'jwks-invalid'
  | 'proof-invalid'
  | 'proof-expired'
  | 'proof-audience-mismatch'
  | 'proof-key-unknown';

/** Newer gateways may answer with codes that this version of the library does not know. */
export type ErrorCode = ProblemCode | ClientErrorCode | (string & {});

/** A fault of a refused body, or a rule that could not be read. */
export type ErrorEntry = Fault | CheckResult['errors'][number];

export type RolecallErrorOptions = {
  readonly status?: number | undefined;
  readonly errors?: readonly ErrorEntry[] | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
};

/**
 * The only error that the library throws; an aborted `signal` throws its own reason.
 *
 * @example
 * catch (error) {
 *   if (error instanceof RolecallError && error.code === 'validation-failed') console.log(error.errors);
 * }
 */
export class RolecallError extends Error {
  override readonly name = 'RolecallError';
  readonly code: ErrorCode;
  /** Names the fault and its remedy. */
  readonly detail: string;
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** The faults of a refused body by JSON pointer, or the rules that could not be read. */
  readonly errors: readonly ErrorEntry[];
  /** The check or batch, if it was accepted. */
  readonly requestId: string | undefined;
  /** How long the gateway asks to wait before the next request, ms. */
  readonly retryAfterMs: number | undefined;

  constructor(code: ErrorCode, detail: string, options: RolecallErrorOptions = {}) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = detail;
    this.status = options.status;
    this.errors = options.errors ?? [];
    this.requestId = options.requestId;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The same error of a request that is known to be about this check or batch. */
  withRequestId(requestId: string): RolecallError {
    const { code, detail, status, errors, retryAfterMs, cause } = this;
    return new RolecallError(code, detail, { status, errors, retryAfterMs, requestId, cause });
  }

  /** Whether the same request may succeed later. */
  get isRetryable(): boolean {
    if (this.status === undefined) return this.code === 'network-unavailable' || this.code === 'timeout';
    return (
      this.code === 'idempotency-key-in-use' ||
      this.status === 408 ||
      this.status === 429 ||
      this.status >= 500
    );
  }
}
