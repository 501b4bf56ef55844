import type { UndeterminedCause, UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { type FailedReading, failed } from '../../domain/read.ts';

/**
 * The ways in which a call to an endpoint fails as a whole:
 * - `about`: what the failure says something about: the `transport` to the endpoint, the `block`
 *   that is asked for, the `contract` that is called, or whether the endpoint takes such a `call`;
 * - `reason`: what the result reports;
 * - `strikes`: what it adds to the endpoint's circuit breaker (a timeout costs most time and counts
 *   double).
 */
const FAILURES = {
  /** Refused, reset, no route, TLS. */
  unreachable: { about: 'transport', reason: 'rpc-unavailable', strikes: 1 },
  timeout: { about: 'transport', reason: 'rpc-timeout', strikes: 2 },
  /** HTTP 429 or an equivalent JSON-RPC error: healthy but busy. */
  'rate-limited': { about: 'transport', reason: 'rpc-unavailable', strikes: 0 },
  /** Any other HTTP status than 2xx. */
  'http-status': { about: 'transport', reason: 'rpc-unavailable', strikes: 1 },
  /** The breaker is open: nothing was sent. */
  'breaker-open': { about: 'transport', reason: 'rpc-unavailable', strikes: 0 },
  /** The wait for the endpoint's rate limit would be too long. */
  'over-rate': { about: 'transport', reason: 'rpc-unavailable', strikes: 0 },
  /** No check waits for the answer any more. */
  abandoned: { about: 'transport', reason: 'deadline-exceeded', strikes: 0 },
  /** The endpoint serves another chain: its breaker opens until it is probed again. */
  'wrong-chain': { about: 'block', reason: 'wrong-chain', strikes: 100 },
  'block-unavailable': { about: 'block', reason: 'block-unavailable', strikes: 0 },
  'block-mismatch': { about: 'block', reason: 'block-mismatch', strikes: 1 },
  /** The EVM ran at the block's number, but `BLOCKHASH` is not the hash of its parent: another
   * fork, or another kind of hash. */
  'block-hash-mismatch': { about: 'block', reason: 'block-mismatch', strikes: 1 },
  /** The block that a check named is later than the endpoints' heads. */
  'block-past-head': { about: 'block', reason: 'block-past-head', strikes: 0 },
  /** No endpoint has the state of the block that a check named. */
  'state-unavailable': { about: 'block', reason: 'state-unavailable', strikes: 0 },
  'chain-stale': { about: 'block', reason: 'chain-stale', strikes: 0 },
  /** A head whose time has not come: no such block can exist. */
  'head-in-future': { about: 'block', reason: 'rpc-unavailable', strikes: 1 },
  /** Fewer endpoints than the quorum gave the same header of the newest block. */
  'too-few-headers': { about: 'block', reason: 'rpc-disagreement', strikes: 0 },
  'min-block-not-reached': { about: 'block', reason: 'min-block-not-reached', strikes: 0 },
  /** The minimum block is so far ahead of the head that the check does not wait. */
  'block-too-far-ahead': { about: 'block', reason: 'block-too-far-ahead', strikes: 0 },
  /** The call as a whole ran out of gas, or the EVM halted it, for example at an invalid opcode
   * (how `assert` failed before Solidity 0.8): unlike a revert that uses up all gas. */
  'gas-exhausted': { about: 'contract', reason: 'gas-exhausted', strikes: 0 },
  /** The EVM exceeded the endpoint's time limit: a heavy contract, or an overloaded endpoint. */
  'evm-timeout': { about: 'contract', reason: 'rpc-timeout', strikes: 0 },
  /** The call as a whole was reverted by the contract. */
  reverted: { about: 'contract', reason: 'call-reverted', strikes: 0 },
  /** Longer than the bound on an answer. */
  endless: { about: 'contract', reason: 'rpc-unavailable', strikes: 1 },
  /** Not JSON, wrong id, short batch, wrong type. */
  malformed: { about: 'call', reason: 'rpc-unavailable', strikes: 1 },
  /** An unknown JSON-RPC error: treated as the endpoint's fault. */
  'rpc-error': { about: 'call', reason: 'rpc-unavailable', strikes: 1 },
  /** The endpoint does not support state overrides (any more). */
  'override-refused': { about: 'call', reason: 'rpc-unavailable', strikes: 0 },
  /** Calldata, answer or batch exceeds the endpoint's limits. */
  'too-large': { about: 'call', reason: 'rpc-unavailable', strikes: 0 },
  /** One contract has more transfers than any read may return. */
  'too-many-logs': { about: 'call', reason: 'rpc-unavailable', strikes: 0 },
  /** The endpoint does not offer the method. */
  'method-unsupported': { about: 'call', reason: 'rpc-unavailable', strikes: 0 },
} as const satisfies Record<string, FailureOfKind>;

type FailureOfKind = {
  readonly about: 'transport' | 'block' | 'contract' | 'call';
  readonly reason: UndeterminedCode | UndeterminedCause;
  readonly strikes: number;
};

export type FailureKind = keyof typeof FAILURES;

/** What a failure says something about: of those about a `contract`, a single one may have caused
 * the failure of the whole call. */
export const isAbout = (kind: FailureKind, ...subjects: readonly FailureOfKind['about'][]): boolean =>
  subjects.includes(FAILURES[kind].about);

/** The facts of a failure beside its kind. */
type FailureFacts = {
  /** The endpoint's `Retry-After`, or its default. */
  readonly retryAfterMs?: number | undefined;
  /** Whether the contract gave data with its revert. */
  readonly hasRevertData?: boolean;
  /** Whether the contract reverted because an assertion of its own failed. */
  readonly isAssertion?: boolean;
  /** The endpoint's own words, if it gave any: short, and without its URL and keys. */
  readonly words?: string | undefined;
  /** Whether the endpoint answered the call by a JSON-RPC error. */
  readonly isErrorAnswer?: boolean;
  /** Whether the limit that refused the call may be one of its size: EIP-1474 has one code for
   * both. */
  readonly mayBeTooLarge?: boolean;
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
  readonly isAssertion: boolean;
  readonly words: string | undefined;
  readonly isErrorAnswer: boolean;
  readonly mayBeTooLarge: boolean;
  readonly isConfirmed: boolean;

  constructor(kind: FailureKind, facts: FailureFacts = {}) {
    super(kind);
    this.kind = kind;
    this.retryAfterMs = facts.retryAfterMs;
    this.hasRevertData = facts.hasRevertData ?? false;
    this.isAssertion = facts.isAssertion ?? false;
    this.words = facts.words;
    this.isErrorAnswer = facts.isErrorAnswer ?? false;
    this.mayBeTooLarge = facts.mayBeTooLarge ?? false;
    this.isConfirmed = facts.isConfirmed ?? false;
  }

  /** The same failure under another kind. */
  as(kind: FailureKind, isConfirmed = this.isConfirmed): RpcFailure {
    const { retryAfterMs, hasRevertData, isAssertion, words, isErrorAnswer } = this;
    return new RpcFailure(kind, {
      retryAfterMs,
      hasRevertData,
      isAssertion,
      words,
      isErrorAnswer,
      isConfirmed,
    });
  }

  /** The failure of a call that asked for a block: any error that the endpoint answers with means
   * that it does not know the block, whatever the words. */
  get ofMissingBlock(): RpcFailure {
    return this.isErrorAnswer && this.kind !== 'rate-limited' ? this.as('block-unavailable') : this;
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
