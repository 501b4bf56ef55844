/** Full calls in a row after which the limit is raised, and the fraction that it is raised by. */
const FULL_CALLS_MIN = 8;
const GROWTH = 1 / 8;

/**
 * How much one `eth_getLogs` of an endpoint may ask for, in blocks or in addresses. A refusal lowers the limit to the
 * largest count that has worked, or by half; calls that use it in full raise it slowly, because a provider changes its
 * limits and the number of logs differs from block to block.
 */
export class LogLimit {
  readonly #max: number;
  #current: number;
  /** The largest count that was answered. */
  #worked = 0;
  #fullCallCount = 0;

  constructor(first: number, max: number) {
    this.#max = max;
    this.#current = Math.min(first, max);
  }

  get current(): number {
    return this.#current;
  }

  /** A call that asked for `count` was answered. Only a full call shows that more may be allowed. */
  succeed(count: number): void {
    this.#worked = Math.max(this.#worked, count);
    if (count < this.#current) return;
    this.#fullCallCount += 1;
    if (this.#fullCallCount < FULL_CALLS_MIN) return;
    this.#fullCallCount = 0;
    this.#current = Math.min(this.#max, this.#current + Math.max(1, Math.floor(this.#current * GROWTH)));
  }

  /** A call that asked for `count` was refused. */
  shrink(count: number): void {
    this.#fullCallCount = 0;
    const half = Math.max(1, Math.floor(count / 2));
    if (this.#worked >= count) this.#worked = half;
    this.#current = Math.min(this.#current, Math.max(half, this.#worked));
  }
}
