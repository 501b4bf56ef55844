/** A burst may use the tokens of this many seconds at once. */
const BURST_SECONDS = 1;
/** A reduced rate recovers by this fraction of the configured rate per second. */
const RECOVERY_PART_PER_SECOND = 0.05;
const BACKOFF_FACTOR = 0.7;
/** The rate is never reduced below this fraction of the configured rate. */
const RATE_PART_MIN = 0.05;

/**
 * A process's share of an endpoint's rate limit: a token bucket. Its rate is the configured rate
 * divided by the number of evaluators; a rate-limit error of the endpoint reduces it, and it
 * recovers slowly.
 */
export class RateBucket {
  #tokens: number;
  #updatedMs: number;
  #part = 1;
  readonly #share: () => number;
  readonly #monotonicMs: () => number;

  /**
   * @param share calls per second that this process may make now
   * @param monotonicMs monotonic clock
   */
  constructor(share: () => number, monotonicMs: () => number) {
    this.#share = share;
    this.#monotonicMs = monotonicMs;
    this.#updatedMs = monotonicMs();
    this.#tokens = Math.max(1, share() * BURST_SECONDS);
  }

  /** After how many ms a token is available; 0: now. */
  get waitMs(): number {
    const rate = this.#refill();
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / rate) * 1_000);
  }

  /** Takes one token and returns 0, or returns after how many ms to try again. */
  take(): number {
    const { waitMs } = this;
    if (waitMs === 0) this.#tokens -= 1;
    return waitMs;
  }

  /** Adds the tokens since the last refill; returns the current rate. */
  #refill(): number {
    const now = this.#monotonicMs();
    const elapsedSeconds = (now - this.#updatedMs) / 1_000;
    this.#updatedMs = now;
    this.#part = Math.min(1, this.#part + RECOVERY_PART_PER_SECOND * elapsedSeconds);
    const rate = Math.max(this.#share() * this.#part, Number.MIN_VALUE);
    this.#tokens = Math.min(Math.max(1, rate * BURST_SECONDS), this.#tokens + rate * elapsedSeconds);
    return rate;
  }

  /** Reduces the rate after a rate-limit error of the endpoint. */
  backOff(): void {
    this.#part = Math.max(RATE_PART_MIN, this.#part * BACKOFF_FACTOR);
  }
}
