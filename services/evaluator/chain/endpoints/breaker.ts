/**
 * The breaker of one endpoint.
 *
 *   closed ──(strikes reach the maximum)──► open ──(its time is over)──► half-open ──success──► closed
 *                                            ▲                              │
 *                                            └────────────failure───────────┘  (twice the time, up to a bound)
 *
 * Half-open lets one call through at a time; the endpoint's background probe is that call if no check makes one.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

type BreakerSettings = {
  /** Consecutive strikes that open it. */
  readonly strikesMax: number;
  readonly openMsMin: number;
  readonly openMsMax: number;
};

const BREAKER_DEFAULTS: BreakerSettings = { strikesMax: 6, openMsMin: 500, openMsMax: 8_000 };

export class Breaker {
  #strikes = 0;
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

  /** Consecutive failures so far, weighted. */
  get strikes(): number {
    return this.#strikes;
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

  succeed(): void {
    this.#strikes = 0;
    this.#openMs = this.#settings.openMsMin;
    this.#openUntilMs = undefined;
    this.#isProbing = false;
  }

  /** Counts a failed call. With 0 strikes the call proves nothing, so a half-open breaker admits another one. */
  fail(strikes: number): void {
    const wasProbe = this.#isProbing;
    this.#isProbing = false;
    if (strikes === 0) return;
    this.#strikes += strikes;
    if (this.#openUntilMs !== undefined) {
      if (wasProbe) this.#open(Math.min(this.#openMs * 2, this.#settings.openMsMax));
      return;
    }
    if (this.#strikes >= this.#settings.strikesMax) this.#open(this.#settings.openMsMin);
  }

  #open(openMs: number): void {
    this.#openMs = openMs;
    this.#openUntilMs = this.#monotonicMs() + openMs;
  }
}
