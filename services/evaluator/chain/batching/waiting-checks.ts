import { FairShares, type Owner } from '#shared/fairness/fair-shares.ts';

/** A check that waits. */
export type Waiter = {
  readonly owner: Owner;
  /** Called, possibly several times, while the chain makes the check wait. */
  readonly onWait: () => void;
  /** Ends its wait before the chain answers. */
  readonly evict: () => void;
};

/**
 * The checks that wait for one chain, in order of arrival. Those within the bound hold places,
 * shared by account, then by app: the consumer parks waiting checks, so a client whose checks wait
 * for an answer that never comes must not use up all parking slots.
 */
export class WaitingChecks {
  readonly #shares: FairShares;
  /** Whether each holds a place. */
  readonly #waiters = new Map<Waiter, boolean>();

  constructor(countMax: number) {
    this.#shares = new FairShares(countMax);
  }

  get size(): number {
    return this.#waiters.size;
  }

  /** Whether one more check of the owner is within the bound. */
  hasRoomFor(owner: Owner): boolean {
    return this.#shares.hasRoom(owner);
  }

  add(waiter: Waiter): void {
    this.#waiters.set(waiter, this.#shares.take(waiter.owner));
  }

  remove(waiter: Waiter): void {
    if (this.#waiters.get(waiter)) this.#shares.give(waiter.owner);
    this.#waiters.delete(waiter);
  }

  /** Notifies all waiting checks that the chain makes them wait. */
  notifyAll(): void {
    for (const waiter of this.#waiters.keys()) waiter.onWait();
  }

  /** Evicts the checks beyond the bound; those that arrived first stay. */
  evictExcess(): void {
    for (const [waiter, isWithin] of [...this.#waiters]) {
      if (isWithin) continue;
      this.remove(waiter);
      if (this.#shares.hasRoom(waiter.owner)) this.add(waiter);
      else waiter.evict();
    }
  }
}
