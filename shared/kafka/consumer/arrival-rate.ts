/** An arrival this long ago counts a third (1 / e) as much as one now. */
const AVERAGED_MS = 100;

/** How many records arrive per ms: an exponential moving average. */
export class ArrivalRate {
  #weight = 0;
  #updatedMs = 0;

  add(count: number, nowMs: number): void {
    this.#weight = this.perMs(nowMs) * AVERAGED_MS + count;
    this.#updatedMs = nowMs;
  }

  perMs(nowMs: number): number {
    const elapsedMs = Math.max(0, nowMs - this.#updatedMs);
    return (this.#weight * Math.exp(-elapsedMs / AVERAGED_MS)) / AVERAGED_MS;
  }
}
