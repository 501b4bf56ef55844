/**
 * The breaker of one endpoint.
 *
 *   closed ──(strikes reach the maximum)──► open ──(its time is over)──► half-open ──success──► closed
 *                                            ▲                              │
 *                                            └────────────failure───────────┘  (twice the time, up to a bound)
 *
 * Half-open lets one call through at a time; the endpoint's background probe is that call if no
 * check makes one. Strikes are counted by kind of call, so that an endpoint which serves heads and
 * fails all calls for balances is found out: the success of one kind neither resets the strikes of
 * the other nor closes a breaker that the other has opened.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** What a call is for: the chain's blocks, or its state. */
export type CallKind = 'head' | 'call';

type BreakerSettings = {
  /** Consecutive strikes that open it. */
  readonly strikesMax: number;
  readonly openMsMin: number;
  readonly openMsMax: number;
};

const BREAKER_DEFAULTS: BreakerSettings = { strikesMax: 6, openMsMin: 500, openMsMax: 8_000 };

export class Breaker {
  readonly #strikes: Record<CallKind, number> = { head: 0, call: 0 };
  /** The kind of call that opened it. */
  #cause: CallKind = 'head';
  #openMs: number;
  #openUntilMs: number | undefined;
  #isProbing = false;
  readonly #settings: BreakerSettings;
  readonly #monotonicMs: () => number;

  /** @param monotonicMs monotonic clock */
  constructor(monotonicMs: () => number, settings: BreakerSettings = BREAKER_DEFAULTS) {
    this.#monotonicMs = monotonicMs;
    this.#settings = settings;
    this.#openMs = settings.openMsMin;
  }

  get state(): BreakerState {
    if (this.#openUntilMs === undefined) return 'closed';
    return this.#monotonicMs() < this.#openUntilMs ? 'open' : 'half-open';
  }

  /** Consecutive failures of one kind of call so far, weighted. */
  get strikes(): number {
    return Math.max(this.#strikes.head, this.#strikes.call);
  }

  /** Whether a call may go out now. In the half-open state the first to ask gets the one call. */
  admit(): boolean {
    if (this.state === 'closed') return true;
    if (this.state === 'open' || this.#isProbing) return false;
    this.#isProbing = true;
    return true;
  }

  /** Whether `admit` would let a call through. */
  get isAdmitting(): boolean {
    return this.state === 'closed' || (this.state === 'half-open' && !this.#isProbing);
  }

  succeed(kind: CallKind): void {
    this.#isProbing = false;
    this.#strikes[kind] = 0;
    if (this.#openUntilMs === undefined || kind !== this.#cause) return;
    this.#openMs = this.#settings.openMsMin;
    this.#openUntilMs = undefined;
  }

  /** Counts a failed call. With 0 strikes the call proves nothing, so a half-open breaker admits
   * another one. */
  fail(kind: CallKind, strikes: number): void {
    const wasProbe = this.#isProbing;
    this.#isProbing = false;
    if (strikes === 0) return;
    this.#strikes[kind] += strikes;
    if (this.#openUntilMs !== undefined) {
      if (wasProbe) this.#open(kind, Math.min(this.#openMs * 2, this.#settings.openMsMax));
      return;
    }
    if (this.#strikes[kind] >= this.#settings.strikesMax) this.#open(kind, this.#settings.openMsMin);
  }

  #open(kind: CallKind, openMs: number): void {
    this.#cause = kind;
    this.#openMs = openMs;
    this.#openUntilMs = this.#monotonicMs() + openMs;
  }
}
