import type { AppOwner } from '#shared/fairness/fair-shares.ts';

type Options<V> = {
  readonly make: (app: AppOwner, origin: string) => V;
  /** Whether a value may be forgotten now. */
  readonly isIdle: (value: V) => boolean;
};

/** Values kept for all accounts, and for one. */
const REMEMBERED_MAX = 10_000;
const REMEMBERED_PER_ACCOUNT_MAX = 2_500;

/**
 * One value for each receiver: a client app's callbacks at one origin. The number of values is
 * bounded for each account, so that one with ever new origins, or apps, evicts only its own values.
 *
 * @example
 * const breakers = new PerReceiver({ make: () => new Breaker(judge, openTimes, monotonicMs), isIdle: () => true });
 * breakers.of({ accountId: 'acc_1', clientId: 'app_1' }, 'https://hooks.example').admit();
 */
export class PerReceiver<V> {
  readonly #options: Options<V>;
  /** By account, then by client app and origin, the oldest first. */
  readonly #accounts = new Map<string, Map<string, V>>();
  #count = 0;

  constructor(options: Options<V>) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  of({ accountId, clientId }: AppOwner, origin: string): V {
    const name = `${clientId} ${origin}`;
    const known = this.#accounts.get(accountId)?.get(name);
    if (known !== undefined) return known;
    const value = this.#options.make({ accountId, clientId }, origin);
    const account = this.#accounts.get(accountId) ?? new Map<string, V>();
    if (account.size >= REMEMBERED_PER_ACCOUNT_MAX) this.#forgetIdle(accountId, account);
    else if (this.#count >= REMEMBERED_MAX) this.#forgetOfLargest();
    account.set(name, value);
    this.#accounts.set(accountId, account);
    this.#count += 1;
    return value;
  }

  *values(): Generator<V> {
    for (const account of this.#accounts.values()) yield* account.values();
  }

  #forgetOfLargest(): void {
    let largest: [string, Map<string, V>] | undefined;
    for (const entry of this.#accounts) if (entry[1].size > (largest?.[1].size ?? 0)) largest = entry;
    if (largest) this.#forgetIdle(...largest);
  }

  /** Forgets idle values of an account, oldest first, until half of its values are left. */
  #forgetIdle(accountId: string, account: Map<string, V>): void {
    const sizeMax = Math.floor(account.size / 2);
    for (const [name, value] of account) {
      if (account.size <= sizeMax) break;
      if (!this.#options.isIdle(value)) continue;
      account.delete(name);
      this.#count -= 1;
    }
    if (account.size === 0) this.#accounts.delete(accountId);
  }
}
