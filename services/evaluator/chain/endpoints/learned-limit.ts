/** After a refusal, a larger call is tried again after this time. */
const RETRY_MS = 60_000;

/**
 * How much one call of an endpoint may ask for, in blocks, addresses or calls of a JSON-RPC array,
 * learned from its refusals, whatever their words. A refusal lowers the limit to the largest count
 * that has worked, or by half. A minute after the last refusal twice as much is tried, and twice
 * again as long as it is answered: providers change their limits.
 *
 * @example
 * const limit = new LearnedLimit(1_000);
 * limit.refuse(1_000);
 * limit.current; // 500
 */
export class LearnedLimit {
  readonly #max: number;
  readonly #monotonicMs: () => number;
  #known: number;
  /** The largest count that was answered since the last refusal of a smaller one. */
  #worked = 0;
  #refusedMs: number | undefined;

  constructor(max: number, monotonicMs = () => performance.now()) {
    this.#max = max;
    this.#known = max;
    this.#monotonicMs = monotonicMs;
  }

  get current(): number {
    const isRetried = this.#refusedMs !== undefined && this.#monotonicMs() - this.#refusedMs >= RETRY_MS;
    return isRetried ? Math.min(this.#max, 2 * this.#known) : this.#known;
  }

  /** The refusals had another cause. */
  forget(): void {
    this.#known = this.#max;
    this.#worked = 0;
    this.#refusedMs = undefined;
  }

  /** A call that asked for `count` was answered. */
  succeed(count: number): void {
    this.#worked = Math.max(this.#worked, count);
    this.#known = Math.max(this.#known, Math.min(count, this.#max));
  }

  /** A call that asked for `count` was refused. If such a call was answered before, only the second
   * refusal counts. */
  refuse(count: number): void {
    const half = Math.max(1, Math.floor(count / 2));
    if (this.#worked >= count) {
      this.#worked = half;
      return;
    }
    this.#known = Math.max(1, Math.min(this.#known, Math.max(half, this.#worked)));
    this.#refusedMs = this.#monotonicMs();
  }
}
