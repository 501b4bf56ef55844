/**
 * How many checks may wait for one chain at a time: in all, and of one client. Those who wait are parked by their
 * consumer, so a client whose checks wait for something that does not come must not take all parking places.
 */
export type WaitingBounds = { readonly perClientMax: number; readonly max: number };

/** A check's place among those who wait. */
export type Waiter = {
  readonly clientId: string;
  /** Told, perhaps often, that the chain lets the check wait. */
  readonly onWait: () => void;
  /** Ends its wait with what there is. */
  readonly evict: () => void;
};

/** Those who wait for one chain, in the order of their coming. */
export class WaitingRoom {
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

  enter(waiter: Waiter): void {
    this.#waiters.add(waiter);
    this.#countByClient.set(waiter.clientId, this.#countOf(waiter.clientId) + 1);
  }

  leave(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter)) return;
    const count = this.#countOf(waiter.clientId) - 1;
    if (count === 0) this.#countByClient.delete(waiter.clientId);
    else this.#countByClient.set(waiter.clientId, count);
  }

  /** Tells all that the chain lets them wait. */
  notifyAll(): void {
    for (const waiter of this.#waiters) waiter.onWait();
  }

  /** Sends away those beyond the bounds: the clients with the most first come down to theirs, the oldest stay. */
  evictExcess(): void {
    const kept = new Map<string, number>();
    let keptCount = 0;
    for (const waiter of [...this.#waiters]) {
      const count = (kept.get(waiter.clientId) ?? 0) + 1;
      if (count > this.#bounds.perClientMax || keptCount >= this.#bounds.max) {
        this.leave(waiter);
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
