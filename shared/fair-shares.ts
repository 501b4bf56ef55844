/**
 * Shares a number of slots, or of bytes, between owners: an owner may hold at most as many as are free.
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

  /** Whether the owner may take `count`, one after the other: before the last it holds fewer than are free. */
  hasRoom(owner: string, count = 1): boolean {
    const earlier = count - 1;
    return this.heldBy(owner) + earlier < this.#countMax - this.#count - earlier;
  }

  /** Takes slots; false, and none of them, if there is no room. */
  take(owner: string, count = 1): boolean {
    if (!this.hasRoom(owner, count)) return false;
    this.#heldBy.set(owner, this.heldBy(owner) + count);
    this.#count += count;
    return true;
  }

  /** Frees slots that the owner holds, at most those. */
  give(owner: string, count = 1): void {
    const held = this.heldBy(owner);
    const freed = Math.min(held, count);
    if (held === freed) this.#heldBy.delete(owner);
    else this.#heldBy.set(owner, held - freed);
    this.#count -= freed;
  }
}
