import type { AppOwner } from '#shared/fairness/fair-shares.ts';

/** Items taken of one app before the next account's turn. */
const QUANTUM = 32;

type Queue<T> = { items: T[]; next: number };

/** The queues of an account's apps, in the order of their turns. */
type Account<T> = Map<string, Queue<T>>;

/**
 * Waiting items, taken by weight: accounts have turns, and within an account its apps, so that the
 * backlog of an account delays only that account.
 */
export class FairQueue<T> {
  /** In the order of their turns. */
  readonly #accounts = new Map<string, Account<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push({ accountId, clientId }: AppOwner, item: T): void {
    const account = this.#accounts.get(accountId) ?? new Map<string, Queue<T>>();
    const queue = account.get(clientId);
    if (queue === undefined) account.set(clientId, { items: [item], next: 0 });
    else queue.items.push(item);
    this.#accounts.set(accountId, account);
    this.#size += 1;
  }

  /**
   * Takes items until their total weight reaches `max`; the last one may exceed it. Unwanted items
   * on the way are dropped.
   */
  take(max: number, isWanted: (item: T) => boolean, weightOf: (item: T) => number = () => 1): T[] {
    const taken: T[] = [];
    let weight = 0;
    while (weight < max && this.#size > 0) {
      const [accountId, account] = firstOf(this.#accounts);
      const [clientId, queue] = firstOf(account);
      for (let quantum = 0; quantum < QUANTUM && weight < max && queue.next < queue.items.length; ) {
        const item = queue.items[queue.next++] as T;
        this.#size -= 1;
        if (!isWanted(item)) continue;
        taken.push(item);
        weight += weightOf(item);
        quantum += 1;
      }
      account.delete(clientId);
      if (queue.next < queue.items.length) account.set(clientId, compact(queue));
      this.#accounts.delete(accountId);
      if (account.size > 0) this.#accounts.set(accountId, account);
    }
    return taken;
  }
}

/** The entry whose turn it is; owners without items are not kept. */
const firstOf = <V>(turns: Map<string, V>): [string, V] => turns.entries().next().value as [string, V];

/** Frees the taken items once they are the larger part, so that an endless backlog does not leak
 * memory. */
function compact<T>(queue: Queue<T>): Queue<T> {
  if (queue.next * 2 < queue.items.length) return queue;
  return { items: queue.items.slice(queue.next), next: 0 };
}
