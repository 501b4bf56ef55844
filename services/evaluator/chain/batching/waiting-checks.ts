/**
 * How many checks may wait for one chain at a time: in total, and per client. The consumer parks waiting checks, so a
 * client whose checks wait for an answer that never comes must not use up all parking slots.
 */
export type WaitingBounds = { readonly perClientMax: number; readonly max: number };

/** A check that waits. */
export type Waiter = {
  readonly clientId: string;
  /** Called, possibly several times, while the chain makes the check wait. */
  readonly onWait: () => void;
  /** Ends its wait before the chain answers. */
  readonly evict: () => void;
};

/** The checks that wait for one chain, in order of arrival. */
export class WaitingChecks {
  readonly #bounds: WaitingBounds;
  readonly #waiters = new Set<Waiter>();
  readonly #countByClient = new Map<string, number>();

  constructor(bounds: WaitingBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Whether one more check of the client is within the bounds. */
  hasRoomFor(clientId: string): boolean {
    return this.#waiters.size < this.#bounds.max && this.#countOf(clientId) < this.#bounds.perClientMax;
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#countByClient.set(waiter.clientId, this.#countOf(waiter.clientId) + 1);
  }

  remove(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter)) return;
    const count = this.#countOf(waiter.clientId) - 1;
    if (count === 0) this.#countByClient.delete(waiter.clientId);
    else this.#countByClient.set(waiter.clientId, count);
  }

  /** Notifies all waiting checks that the chain makes them wait. */
  notifyAll(): void {
    for (const waiter of this.#waiters) waiter.onWait();
  }

  /** Evicts the checks beyond the bounds; the oldest checks stay. */
  evictExcess(): void {
    const kept = new Map<string, number>();
    let keptCount = 0;
    for (const waiter of [...this.#waiters]) {
      const count = (kept.get(waiter.clientId) ?? 0) + 1;
      if (count > this.#bounds.perClientMax || keptCount >= this.#bounds.max) {
        this.remove(waiter);
        waiter.evict();
        continue;
      }
      kept.set(waiter.clientId, count);
      keptCount += 1;
    }
  }

  #countOf(clientId: string): number {
    return this.#countByClient.get(clientId) ?? 0;
  }
}
