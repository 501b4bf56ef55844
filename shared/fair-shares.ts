/**
 * Shares a number of slots between owners: an owner may hold as many as are free.
 *
 * An owner alone gets half of them, each of two a third, each of N one part in N + 1: no owner can leave the others
 * without any, and unused slots are not reserved. The rule is known from switches that share a buffer ("dynamic queue
 * length thresholds", Choudhury and Hahne, 1998).
 *
 * @example
 * const shares = new FairShares(512);
 * if (!shares.take(clientId)) refuse();
 * shares.give(clientId);
 */
export class FairShares {
  readonly #countMax: number;
  readonly #heldBy = new Map<string, number>();
  #count = 0;

  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Slots held by all owners together. */
  get count(): number {
    return this.#count;
  }

  heldBy(owner: string): number {
    return this.#heldBy.get(owner) ?? 0;
  }

  /** Whether the owner holds fewer than are free. */
  hasRoom(owner: string): boolean {
    return this.heldBy(owner) < this.#countMax - this.#count;
  }

  /** Takes a slot; false if there is no room. */
  take(owner: string): boolean {
    if (!this.hasRoom(owner)) return false;
    this.#heldBy.set(owner, this.heldBy(owner) + 1);
    this.#count += 1;
    return true;
  }

  /** Frees a slot that the owner holds. */
  give(owner: string): void {
    const held = this.heldBy(owner);
    if (held === 0) return;
    if (held === 1) this.#heldBy.delete(owner);
    else this.#heldBy.set(owner, held - 1);
    this.#count -= 1;
  }
}
