/**
 * A circuit breaker: it protects an endpoint or a receiver that fails, and callers from waiting for
 * it. A judge decides from outcomes; `strikes.ts` and `share-of-window.ts` are the two judges.
 *
 *   closed ──(the judge says so)──► open ──(its time is over)──► half-open ──recovered──► closed
 *                                    ▲                              │
 *                                    └───────────failing────────────┘  (twice the time, to a bound)
 *
 * Half-open admits one call at a time, the probe, whose outcome closes or opens the breaker.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

export const BREAKER_STATES: readonly BreakerState[] = ['closed', 'open', 'half-open'];

/** Permission for one call. The outcome of a probe decides on a half-open breaker. */
export type Admission = 'call' | 'probe';

export type Judge<Outcome> = {
  /** Counts an outcome; returns whether it opens a closed breaker. */
  readonly opens: (outcome: Outcome) => boolean;
  /** The meaning of a probe's outcome; `undefined`: none, so another probe may go out. */
  readonly probed: (outcome: Outcome) => 'recovered' | 'failing' | undefined;
};

type OpenTimes = {
  /** How long it is open at first, and after failed probes at most, in ms. */
  readonly openMsMin: number;
  readonly openMsMax: number;
};

/**
 * @example
 * const times = { openMsMin: 30_000, openMsMax: 600_000 };
 * const breaker = new Breaker(shareOfWindow(60_000, monotonicMs), times, monotonicMs);
 * const admission = breaker.admit();
 * if (admission) breaker.record(await attempt(), admission);
 */
export class Breaker<Outcome> {
  readonly #judge: Judge<Outcome>;
  readonly #times: OpenTimes;
  readonly #monotonicMs: () => number;
  #openMs: number;
  #openUntilMs: number | undefined;
  #isProbing = false;

  /** @param monotonicMs a clock that is never set back */
  constructor(judge: Judge<Outcome>, times: OpenTimes, monotonicMs: () => number) {
    this.#judge = judge;
    this.#times = times;
    this.#monotonicMs = monotonicMs;
    this.#openMs = times.openMsMin;
  }

  get state(): BreakerState {
    if (this.#openUntilMs === undefined) return 'closed';
    return this.#isProbing || this.#monotonicMs() >= this.#openUntilMs ? 'half-open' : 'open';
  }

  /** Whether `admit` would permit a call. */
  get isAdmitting(): boolean {
    return this.state === 'closed' || (this.state === 'half-open' && !this.#isProbing);
  }

  /** Permission for a call, or `undefined`: no call now. The outcome of a probe must be recorded. */
  admit(): Admission | undefined {
    if (!this.isAdmitting) return undefined;
    if (this.state === 'closed') return 'call';
    this.#isProbing = true;
    return 'probe';
  }

  /** An outcome from before the breaker opened is counted, but neither closes nor opens it. */
  record(outcome: Outcome, admission: Admission = 'call'): void {
    const opens = this.#judge.opens(outcome);
    if (admission === 'call') {
      if (opens && this.#openUntilMs === undefined) this.#open(this.#times.openMsMin);
      return;
    }
    this.#isProbing = false;
    const found = this.#judge.probed(outcome);
    if (found === 'recovered') this.#openUntilMs = undefined;
    if (found === 'failing') this.#open(Math.min(this.#openMs * 2, this.#times.openMsMax));
  }

  #open(openMs: number): void {
    this.#openMs = openMs;
    this.#openUntilMs = this.#monotonicMs() + openMs;
  }
}
