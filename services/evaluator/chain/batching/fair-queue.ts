/** Items taken of one client before the next client's turn. */
const QUANTUM = 32;

type Queue<T> = { items: T[]; next: number };

/** Waiting items of many clients, taken round-robin, so that a client's backlog delays only that client. */
export class FairQueue<T> {
  /** In the order of their turns. */
  readonly #byClient = new Map<string, Queue<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(clientId: string, item: T): void {
    const queue = this.#byClient.get(clientId);
    if (queue === undefined) this.#byClient.set(clientId, { items: [item], next: 0 });
    else queue.items.push(item);
    this.#size += 1;
  }

  /**
   * Takes items until their total weight reaches `max`; the last one may exceed it. Unwanted items on the way are dropped.
   */
  take(max: number, isWanted: (item: T) => boolean, weightOf: (item: T) => number = () => 1): T[] {
    const taken: T[] = [];
    let weight = 0;
    while (weight < max && this.#size > 0) {
      const [turn] = this.#byClient;
      if (turn === undefined) break;
      const [clientId, queue] = turn;
      for (let quantum = 0; quantum < QUANTUM && weight < max && queue.next < queue.items.length; ) {
        const item = queue.items[queue.next++] as T;
        this.#size -= 1;
        if (!isWanted(item)) continue;
        taken.push(item);
        weight += weightOf(item);
        quantum += 1;
      }
      this.#byClient.delete(clientId);
      if (queue.next < queue.items.length) this.#byClient.set(clientId, compact(queue));
    }
    return taken;
  }
}

/** Frees the taken items once they are the larger part, so that an endless backlog does not leak memory. */
function compact<T>(queue: Queue<T>): Queue<T> {
  if (queue.next * 2 < queue.items.length) return queue;
  return { items: queue.items.slice(queue.next), next: 0 };
}
