import type { UndeterminedCause, UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { type FailedReading, failed } from '../../domain/read.ts';

/**
 * The ways in which a call to an endpoint fails as a whole: the reason that the result reports, and
 * the `strikes` that it adds to the endpoint's circuit breaker (a timeout costs most time and
 * counts double).
 */
const FAILURES = {
  /** Refused, reset, no route, TLS. */
  unreachable: { reason: 'rpc-unavailable', strikes: 1 },
  timeout: { reason: 'rpc-timeout', strikes: 2 },
  /** HTTP 429 or an equivalent JSON-RPC error: healthy but busy. */
  'rate-limited': { reason: 'rpc-unavailable', strikes: 0 },
  /** Any other HTTP status than 2xx. */
  'http-status': { reason: 'rpc-unavailable', strikes: 1 },
  /** Longer than the bound on an answer. */
  endless: { reason: 'rpc-unavailable', strikes: 1 },
  /** Not JSON, wrong id, short batch, wrong type. */
  malformed: { reason: 'rpc-unavailable', strikes: 1 },
  /** An unknown JSON-RPC error: treated as the endpoint's fault. */
  'rpc-error': { reason: 'rpc-unavailable', strikes: 1 },
  /** The endpoint serves another chain: its breaker opens until it is probed again. */
  'wrong-chain': { reason: 'wrong-chain', strikes: 100 },
  /** The breaker is open: nothing was sent. */
  'breaker-open': { reason: 'rpc-unavailable', strikes: 0 },
  /** The wait for the endpoint's rate limit would be too long. */
  'over-rate': { reason: 'rpc-unavailable', strikes: 0 },
  'block-unavailable': { reason: 'block-unavailable', strikes: 0 },
  'block-mismatch': { reason: 'block-mismatch', strikes: 1 },
  /** The EVM ran at the block's number, but `BLOCKHASH` is not the hash of its parent: another
   * fork, or another kind of hash. */
  'block-hash-mismatch': { reason: 'block-mismatch', strikes: 1 },
  /** The block that a check named is later than the endpoints' heads. */
  'block-past-head': { reason: 'block-past-head', strikes: 0 },
  /** No endpoint has the state of the block that a check named. */
  'state-unavailable': { reason: 'state-unavailable', strikes: 0 },
  'chain-stale': { reason: 'chain-stale', strikes: 0 },
  /** A head whose time has not come: no such block can exist. */
  'head-in-future': { reason: 'rpc-unavailable', strikes: 1 },
  'min-block-not-reached': { reason: 'min-block-not-reached', strikes: 0 },
  /** The minimum block is so far ahead of the head that the check does not wait. */
  'block-too-far-ahead': { reason: 'block-too-far-ahead', strikes: 0 },
  /** The endpoint does not support state overrides (any more). */
  'override-refused': { reason: 'rpc-unavailable', strikes: 0 },
  /** The call as a whole ran out of gas. */
  'gas-exhausted': { reason: 'gas-exhausted', strikes: 0 },
  /** The EVM exceeded the endpoint's time limit: a heavy contract, or an overloaded endpoint. */
  'evm-timeout': { reason: 'rpc-timeout', strikes: 0 },
  /** The call as a whole was reverted by the contract. */
  reverted: { reason: 'call-reverted', strikes: 0 },
  /**
   * The EVM halted the call, for example at an invalid opcode (how `assert` failed before Solidity
   * 0.8). Unlike a revert it uses up all gas, so it is reported as `gas-exhausted`, as the reader
   * does, which sees only the gas.
   */
  halted: { reason: 'gas-exhausted', strikes: 0 },
  /** Calldata, answer or batch exceeds the endpoint's limits. */
  'too-large': { reason: 'rpc-unavailable', strikes: 0 },
  /** One contract has more transfers than any read may return. */
  'too-many-logs': { reason: 'rpc-unavailable', strikes: 0 },
  /** The endpoint does not offer the method. */
  'method-unsupported': { reason: 'rpc-unavailable', strikes: 0 },
  /** No check waits for the answer any more. */
  abandoned: { reason: 'deadline-exceeded', strikes: 0 },
} as const satisfies Record<string, { reason: UndeterminedCode | UndeterminedCause; strikes: number }>;

export type FailureKind = keyof typeof FAILURES;

/** Whether a single contract may have caused the failure of the whole call. */
export const mayBeContractFault = (kind: FailureKind): boolean =>
  kind === 'gas-exhausted' ||
  kind === 'evm-timeout' ||
  kind === 'reverted' ||
  kind === 'halted' ||
  kind === 'endless';

/** What is known of a failure beside its kind. */
type FailureFacts = {
  /** The endpoint's `Retry-After`, or its default. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the contract gave data with its revert. */
  readonly hasRevertData?: boolean;
  /** The endpoint's own words, if it gave any: short, and without its URL and keys. */
  readonly words?: string | undefined;
  /** Whether the endpoint answered the call by a JSON-RPC error. */
  readonly isErrorAnswer?: boolean;
  /** Whether a call of the service's own has failed in the same way, so that no client has chosen
   * the failure. */
  readonly isConfirmed?: boolean;
};

/** A call to an endpoint that failed as a whole. Its message never holds a URL, a key or the
 * endpoint's own text. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly kind: FailureKind;
  readonly retryAfterMs: number | undefined;
  readonly hasRevertData: boolean;
  readonly words: string | undefined;
  readonly isErrorAnswer: boolean;
  readonly isConfirmed: boolean;

  constructor(kind: FailureKind, facts: FailureFacts = {}) {
    super(kind);
    this.kind = kind;
    this.retryAfterMs = facts.retryAfterMs;
    this.hasRevertData = facts.hasRevertData ?? false;
    this.words = facts.words;
    this.isErrorAnswer = facts.isErrorAnswer ?? false;
    this.isConfirmed = facts.isConfirmed ?? false;
  }

  /** The same failure under another kind. */
  as(kind: FailureKind, isConfirmed = this.isConfirmed): RpcFailure {
    const { retryAfterMs, hasRevertData, words, isErrorAnswer } = this;
    return new RpcFailure(kind, { retryAfterMs, hasRevertData, words, isErrorAnswer, isConfirmed });
  }

  /** Whether a smaller call might have been answered: the endpoint refused this one, or gave up on
   * it. */
  get isRefusal(): boolean {
    return (
      (this.isErrorAnswer && this.kind !== 'rate-limited' && this.kind !== 'method-unsupported') ||
      this.kind === 'http-status' ||
      this.kind === 'too-large' ||
      this.kind === 'endless'
    );
  }

  /** The reading of a read that failed because of this. */
  get reading(): FailedReading {
    return failed(FAILURES[this.kind].reason);
  }

  get strikes(): number {
    return FAILURES[this.kind].strikes;
  }
}

/** Converts a thrown value to a failure; an unknown error counts as the endpoint's fault. */
export const toRpcFailure = (error: unknown): RpcFailure =>
  error instanceof RpcFailure ? error : new RpcFailure('rpc-error');
