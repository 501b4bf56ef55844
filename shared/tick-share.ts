/**
 * How long one kind of work may hold the event loop in each of its ticks. All else in the process
 * waits that long at each of its steps: a sync check has about ten of them.
 *
 * @example
 * const share = new TickShare(4);
 * while (share.hasTime()) startNext();
 */
export class TickShare {
  readonly #msMax: number;
  readonly #monotonicMs: () => number;
  /** Absent before the first work of a tick. */
  #endsAtMs: number | undefined;

  constructor(msMax: number, monotonicMs: () => number = () => performance.now()) {
    this.#msMax = msMax;
    this.#monotonicMs = monotonicMs;
  }

  /** Whether more of the work may begin in this tick. The first piece always may. */
  hasTime(): boolean {
    if (this.#endsAtMs !== undefined) return this.#monotonicMs() < this.#endsAtMs;
    this.#endsAtMs = this.#monotonicMs() + this.#msMax;
    setImmediate(() => {
      this.#endsAtMs = undefined;
    });
    return true;
  }
}
