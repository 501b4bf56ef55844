import type { Owner } from './fair-shares.ts';

/** Items of one app before the next account's turn, where many are taken at once. */
const QUANTUM = 32;

/** The items of an app, the next one at `next`: those before it are taken. */
type Line<T> = { readonly owner: Owner; items: T[]; next: number };

/** The lines of an account's apps; the next to be served first. */
type Account<T> = {
  size: number;
  readonly apps: Map<string, Line<T>>;
};

const namesOf = (owner: Owner): readonly [account: string, app: string] =>
  typeof owner === 'string' ? [owner, ''] : [owner.accountId, owner.clientId];

/** The owner alone: the one that was passed may be a whole record. */
const nameOf = (owner: Owner): Owner =>
  typeof owner === 'string' ? owner : { accountId: owner.accountId, clientId: owner.clientId };

/**
 * Waiting items of many owners: accounts have turns, and within an account its apps. So an account
 * delays another by one item a round, however many apps it has.
 *
 * @example
 * queue.push(app, start);
 * queue.take()?.();
 */
export class FairQueue<T> {
  /** The next to be served first. */
  readonly #accounts = new Map<string, Account<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether items of the owner wait; of an account those of any of its apps. */
  has(owner: Owner): boolean {
    const [name, app] = namesOf(owner);
    const account = this.#accounts.get(name);
    return account !== undefined && (typeof owner === 'string' || account.apps.has(app));
  }

  push(owner: Owner, item: T): void {
    const [name, app] = namesOf(owner);
    let account = this.#accounts.get(name);
    if (account === undefined) {
      account = { size: 0, apps: new Map() };
      this.#accounts.set(name, account);
    }
    const line = account.apps.get(app);
    if (line === undefined) account.apps.set(app, { owner: nameOf(owner), items: [item], next: 0 });
    else line.items.push(item);
    account.size += 1;
    this.#size += 1;
  }

  /**
   * Takes the first item of the owner whose turn it is, or of the next one whose first item is
   * ready.
   *
   * @param looksMax how many owners are looked at; where none of these is ready, the turn of each
   *   is over
   * @param of the only account that is looked at; default: all
   */
  take(
    isReady: (item: T, owner: Owner) => boolean = () => true,
    { looksMax = Number.POSITIVE_INFINITY, of }: { readonly looksMax?: number; readonly of?: string } = {},
  ): T | undefined {
    const looked: Owner[] = [];
    const accounts = of === undefined ? this.#accounts.values() : [this.#accounts.get(of)];
    for (const account of accounts)
      for (const { owner, items, next } of account?.apps.values() ?? []) {
        if (isReady(items[next] as T, owner)) {
          this.#endTurn(owner);
          return this.#remove(owner, 0);
        }
        if (looked.push(owner) < looksMax) continue;
        for (const each of looked) this.#endTurn(each);
        return undefined;
      }
    return undefined;
  }

  /**
   * Takes items until their total weight reaches `weightMax`, which the last one may exceed, up to 32
   * of one app in a turn. Unwanted items on the way are dropped.
   */
  takeMany(weightMax: number, isWanted: (item: T) => boolean, weightOf = (_item: T): number => 1): T[] {
    const taken: T[] = [];
    let weight = 0;
    while (weight < weightMax && this.#size > 0) {
      const [name, account] = firstOf(this.#accounts);
      const [app, line] = firstOf(account.apps);
      const before = line.next;
      for (let count = 0; count < QUANTUM && weight < weightMax && line.next < line.items.length; ) {
        const item = line.items[line.next++] as T;
        if (!isWanted(item)) continue;
        taken.push(item);
        weight += weightOf(item);
        count += 1;
      }
      this.#forget(name, app, line.next - before);
      this.#endTurn(line.owner);
    }
    return taken;
  }

  /** Drops the newest item of the longest queue, of the account with the most items; of equally
   * long ones, the newcomer's. */
  drop(newcomer: Owner): T | undefined {
    const [account, app] = namesOf(newcomer);
    const name = longest(this.#accounts, account, ({ size }) => size);
    const { apps } = this.#accounts.get(name) ?? {};
    const queue = apps?.get(longest(apps, app, lengthOf));
    return queue && this.#remove(queue.owner, lengthOf(queue) - 1);
  }

  /** Removes an item, wherever it waits; false if it does not wait. */
  remove(owner: Owner, item: T): boolean {
    const [account, app] = namesOf(owner);
    const { items = [], next = 0 } = this.#accounts.get(account)?.apps.get(app) ?? {};
    const index = items.indexOf(item, next);
    if (index < 0) return false;
    this.#remove(owner, index - next);
    return true;
  }

  /** The items of each owner, the oldest first. */
  *queues(): Generator<readonly [Owner, readonly T[]]> {
    for (const { apps } of this.#accounts.values())
      for (const { owner, items, next } of apps.values()) yield [owner, items.slice(next)];
  }

  #endTurn(owner: Owner): void {
    const [name, app] = namesOf(owner);
    moveToEnd(this.#accounts, name);
    moveToEnd(this.#accounts.get(name)?.apps, app);
  }

  #remove(owner: Owner, index: number): T | undefined {
    const [name, app] = namesOf(owner);
    const line = this.#accounts.get(name)?.apps.get(app);
    if (line === undefined) return undefined;
    const [item] = index === 0 ? [line.items[line.next++]] : line.items.splice(line.next + index, 1);
    this.#forget(name, app, 1);
    return item;
  }

  /** Counts items that have left a line, and frees their places once they are the larger part, so
   * that an endless backlog does not leak memory. */
  #forget(name: string, app: string, count: number): void {
    const account = this.#accounts.get(name);
    const line = account?.apps.get(app);
    if (account === undefined || line === undefined) return;
    this.#size -= count;
    account.size -= count;
    if (lengthOf(line) === 0) account.apps.delete(app);
    if (account.size === 0) this.#accounts.delete(name);
    if (line.next * 2 < line.items.length) return;
    line.items = line.items.slice(line.next);
    line.next = 0;
  }
}

const firstOf = <V>(turns: Map<string, V>): [string, V] => turns.entries().next().value as [string, V];

const lengthOf = ({ items, next }: Line<unknown>): number => items.length - next;

/** Ends the turn of an owner, if it has items. */
function moveToEnd<V>(turns: Map<string, V> | undefined, name: string): void {
  const entry = turns?.get(name);
  if (turns === undefined || entry === undefined) return;
  turns.delete(name);
  turns.set(name, entry);
}

/** The name of the largest entry; the named one if no other is larger. */
function longest<V>(entries: ReadonlyMap<string, V>, named: string, sizeOf: (entry: V) => number): string {
  const sizeOfNamed = (name: string): number => {
    const entry = entries.get(name);
    return entry === undefined ? 0 : sizeOf(entry);
  };
  let found = named;
  for (const name of entries.keys()) if (sizeOfNamed(name) > sizeOfNamed(found)) found = name;
  return found;
}
