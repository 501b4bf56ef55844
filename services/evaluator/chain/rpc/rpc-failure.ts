import type { UndeterminedCause, UndeterminedCode } from '#shared/contracts/result.ts';
import { type FailedReading, failed } from '../../domain/read.ts';

/**
 * The ways in which a call of an endpoint fails as a whole: the reason that a rule is told, and what it says of the
 * endpoint's health (`strikes` towards its breaker; a timeout costs most time and counts double).
 */
const FAILURES = {
  /** Refused, reset, no route, TLS. */
  unreachable: { reason: 'rpc-unavailable', strikes: 1 },
  timeout: { reason: 'rpc-timeout', strikes: 2 },
  /** HTTP 429 and its JSON-RPC cousins: healthy but busy. */
  'rate-limited': { reason: 'rpc-unavailable', strikes: 0 },
  /** Any other HTTP status than 200. */
  'http-status': { reason: 'rpc-unavailable', strikes: 1 },
  /** Longer than the bound on an answer. */
  endless: { reason: 'rpc-unavailable', strikes: 1 },
  /** Not JSON, wrong id, short batch, wrong type. */
  malformed: { reason: 'rpc-unavailable', strikes: 1 },
  /** A JSON-RPC error that nobody has listed: handled as the endpoint's fault. */
  'rpc-error': { reason: 'rpc-unavailable', strikes: 1 },
  /** The endpoint serves another chain: out until it is looked at again. */
  'wrong-chain': { reason: 'wrong-chain', strikes: 100 },
  /** The breaker is open: nothing was sent. */
  'breaker-open': { reason: 'rpc-unavailable', strikes: 0 },
  /** The share of the endpoint's rate is used up for longer than is worth waiting. */
  'over-rate': { reason: 'rpc-unavailable', strikes: 0 },
  'block-unavailable': { reason: 'block-unavailable', strikes: 0 },
  'block-mismatch': { reason: 'block-mismatch', strikes: 1 },
  'chain-stale': { reason: 'chain-stale', strikes: 0 },
  'min-block-not-reached': { reason: 'min-block-not-reached', strikes: 0 },
  /** The minimum block is so far ahead of the head that it is not waited for. */
  'block-too-far-ahead': { reason: 'block-too-far-ahead', strikes: 0 },
  /** The endpoint does not do state overrides (any more). */
  'override-refused': { reason: 'rpc-unavailable', strikes: 0 },
  /** The call as a whole ran out of gas. */
  'gas-exhausted': { reason: 'gas-exhausted', strikes: 0 },
  /** The EVM ran for longer than the endpoint lets it: a heavy contract, or an endpoint that is overloaded. */
  'evm-timeout': { reason: 'rpc-timeout', strikes: 0 },
  /** The call as a whole was reverted: the contract said no. */
  reverted: { reason: 'call-reverted', strikes: 0 },
  /**
   * The EVM halted the call, for example at an invalid opcode (how `assert` failed before Solidity 0.8). Unlike a
   * revert it uses up all gas, so it is told as the reader tells it, which sees only the gas.
   */
  halted: { reason: 'gas-exhausted', strikes: 0 },
  /** Calldata, answer or batch beyond what the endpoint takes. */
  'too-large': { reason: 'rpc-unavailable', strikes: 0 },
  /** Nobody waits for the answer any more. */
  abandoned: { reason: 'deadline-exceeded', strikes: 0 },
} as const satisfies Record<string, { reason: UndeterminedCode | UndeterminedCause; strikes: number }>;

export type FailureKind = keyof typeof FAILURES;

/** Whether one contract may have brought the failure over the whole call. */
export const mayBeContractFault = (kind: FailureKind): boolean =>
  kind === 'gas-exhausted' ||
  kind === 'evm-timeout' ||
  kind === 'reverted' ||
  kind === 'halted' ||
  kind === 'endless';

/** A call of an endpoint that failed as a whole. Its message never holds an URL, a key or the endpoint's words. */
export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly kind: FailureKind;
  /** The endpoint asked to be left alone for so long. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, retryAfterMs?: number) {
    super(kind);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }

  get code(): UndeterminedCode {
    return this.reading.code;
  }

  /** What a read is told that could not be made because of this. */
  get reading(): FailedReading {
    return failed(FAILURES[this.kind].reason);
  }

  get strikes(): number {
    return FAILURES[this.kind].strikes;
  }
}

/** Whatever was thrown, as a failure; what nobody knows is the endpoint's fault. */
export const toRpcFailure = (error: unknown): RpcFailure =>
  error instanceof RpcFailure ? error : new RpcFailure('rpc-error');
