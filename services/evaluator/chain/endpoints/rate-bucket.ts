/** A burst may use this much of the rate at once. */
const BURST_SECONDS = 1;
/** A rate that a busy endpoint has pushed down comes back by this part of the configured one per second. */
const RECOVERY_PART_PER_SECOND = 0.05;
const BACKOFF_FACTOR = 0.7;
/** It is never pushed below this part of the configured one. */
const RATE_PART_MIN = 0.05;

/**
 * A process's share of an endpoint's rate: a token bucket whose rate is the configured one divided by the
 * number of evaluators, pushed down when the endpoint says it is busy and recovering slowly.
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

  /** After how many ms a call could be taken; 0: now. */
  get waitMs(): number {
    const rate = this.#refill();
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) / rate) * 1_000);
  }

  /** Takes one call, or says after how many ms to ask again. */
  take(): number {
    const { waitMs } = this;
    if (waitMs === 0) this.#tokens -= 1;
    return waitMs;
  }

  /** Brings the tokens up to now; the rate that they came at. */
  #refill(): number {
    const now = this.#monotonicMs();
    const elapsedSeconds = (now - this.#updatedMs) / 1_000;
    this.#updatedMs = now;
    this.#part = Math.min(1, this.#part + RECOVERY_PART_PER_SECOND * elapsedSeconds);
    const rate = Math.max(this.#share() * this.#part, Number.MIN_VALUE);
    this.#tokens = Math.min(Math.max(1, rate * BURST_SECONDS), this.#tokens + rate * elapsedSeconds);
    return rate;
  }

  /** The endpoint said that it is busy. */
  backOff(): void {
    this.#part = Math.max(RATE_PART_MIN, this.#part * BACKOFF_FACTOR);
  }
}
