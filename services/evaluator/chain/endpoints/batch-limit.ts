/** Reads of one call at the start, and the step by which each successful full call raises the limit. */
const FIRST = 500;
const STEP = 50;
const HARD_MAX = 1_000;

/**
 * How many reads one call of an endpoint carries: additive increase, multiplicative decrease, between 1 and
 * the maximum that the operator configured.
 */
export class BatchLimit {
  readonly #max: number;
  #current: number;

  constructor(max = HARD_MAX) {
    this.#max = max;
    this.#current = Math.min(FIRST, max);
  }

  get current(): number {
    return this.#current;
  }

  /** A call with `count` reads was answered in full. Only a full call shows that more may fit. */
  succeed(count: number): void {
    if (count >= this.#current) this.#current = Math.min(this.#max, this.#current + STEP);
  }

  /** A call with `count` reads was too much: too large, too slow or out of gas. */
  shrink(count: number): void {
    this.#current = Math.max(1, Math.min(this.#current, Math.floor(count / 2)));
  }
}
