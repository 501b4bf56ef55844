import type { UndeterminedCode } from '#shared/contracts/result.ts';

/**
 * The ways in which a call of an endpoint fails as a whole: what a rule is told, and what it says of the
 * endpoint's health (`strikes` towards its breaker; a timeout costs most time and counts double).
 */
const FAILURES = {
  /** Refused, reset, no route, TLS. */
  unreachable: { code: 'rpc-unavailable', strikes: 1 },
  timeout: { code: 'rpc-timeout', strikes: 2 },
  /** HTTP 429 and its JSON-RPC cousins: healthy but busy. */
  'rate-limited': { code: 'rpc-unavailable', strikes: 0 },
  /** Any other HTTP status than 200. */
  'http-status': { code: 'rpc-unavailable', strikes: 1 },
  /** Longer than the bound on an answer. */
  endless: { code: 'rpc-unavailable', strikes: 1 },
  /** Not JSON, wrong id, short batch, wrong type. */
  malformed: { code: 'rpc-unavailable', strikes: 1 },
  /** A JSON-RPC error that nobody has listed: handled as the endpoint's fault. */
  'rpc-error': { code: 'rpc-unavailable', strikes: 1 },
  /** The endpoint serves another chain: out until it is looked at again. */
  'wrong-chain': { code: 'rpc-unavailable', strikes: 100 },
  /** The breaker is open: nothing was sent. */
  'breaker-open': { code: 'rpc-unavailable', strikes: 0 },
  /** The share of the endpoint's rate is used up for longer than is worth waiting. */
  'over-rate': { code: 'rpc-unavailable', strikes: 0 },
  'block-unavailable': { code: 'block-unavailable', strikes: 0 },
  'block-mismatch': { code: 'block-mismatch', strikes: 1 },
  'chain-stale': { code: 'chain-stale', strikes: 0 },
  'min-block-not-reached': { code: 'min-block-not-reached', strikes: 0 },
  /** The endpoint does not do state overrides (any more). */
  'override-refused': { code: 'rpc-unavailable', strikes: 0 },
  /** The call as a whole ran out of gas. */
  'gas-exhausted': { code: 'gas-exhausted', strikes: 0 },
  /** The EVM ran for longer than the endpoint lets it: a heavy contract, or an endpoint that is overloaded. */
  'evm-timeout': { code: 'rpc-timeout', strikes: 0 },
  /** The call as a whole was reverted: the contract said no. */
  reverted: { code: 'call-reverted', strikes: 0 },
  /** The EVM gave the call up: an opcode or a jump that is none. Not the contract's word, as a revert is. */
  halted: { code: 'call-reverted', strikes: 0 },
  /** Calldata, answer or batch beyond what the endpoint takes. */
  'too-large': { code: 'rpc-unavailable', strikes: 0 },
  /** Nobody waits for the answer any more. */
  abandoned: { code: 'deadline-exceeded', strikes: 0 },
} as const satisfies Record<string, { code: UndeterminedCode; strikes: number }>;

export type FailureKind = keyof typeof FAILURES;

/** Whether one contract may have brought the failure over the whole call. */
export const isPerhapsContracts = (kind: FailureKind): boolean =>
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
    return FAILURES[this.kind].code;
  }

  get strikes(): number {
    return FAILURES[this.kind].strikes;
  }
}

/** Whatever was thrown, as a failure; what nobody knows is the endpoint's fault. */
export const toRpcFailure = (error: unknown): RpcFailure =>
  error instanceof RpcFailure ? error : new RpcFailure('rpc-error');
