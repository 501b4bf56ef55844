import type { ServerResponse } from 'node:http';
import { FairShares, type Owner } from '#shared/fair-shares.ts';

type Options = {
  /** Requests answered at once. */
  readonly countMax: number;
  /** Told the number at each change. */
  readonly observe: (count: number) => void;
};

/**
 * The requests that are being answered: each from its entry until its connection closes, it is answered, or it leaves.
 *
 *   entered ──assign──► of an owner ──leave, close──► gone
 *      └────────────────leave, close──────────────────┘
 *
 * @example
 * const inFlight = new InFlight({ countMax: 10_000, observe: (count) => metrics.inFlight.set(count) });
 * if (!inFlight.enter(response) || !inFlight.assign(response, app)) refuse();
 */
export class InFlight {
  readonly #options: Options;
  readonly #owners = new Map<ServerResponse, Owner | undefined>();
  readonly #shares: FairShares;

  constructor(options: Options) {
    this.#options = options;
    this.#shares = new FairShares(options.countMax);
  }

  /** Counts a request in; false if there are too many. */
  enter(response: ServerResponse): boolean {
    if (this.#owners.size >= this.#options.countMax) return false;
    this.#owners.set(response, undefined);
    this.#options.observe(this.#owners.size);
    response.once('close', () => this.leave(response));
    return true;
  }

  /** Assigns a request to its owner; false if the owner has used its share. */
  assign(response: ServerResponse, owner: Owner): boolean {
    if (!this.#owners.has(response)) return true;
    if (!this.#shares.take(owner)) return false;
    this.#owners.set(response, owner);
    return true;
  }

  /** Counts a request out, at the latest when its connection closes. */
  leave(response: ServerResponse): void {
    const owner = this.#owners.get(response);
    if (!this.#owners.delete(response)) return;
    if (owner !== undefined) this.#shares.give(owner);
    this.#options.observe(this.#owners.size);
  }
}
