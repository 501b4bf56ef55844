import { FairShares, type Owner } from '#shared/fairness/fair-shares.ts';
import { overloaded, Problem } from './problem.ts';

type Options = {
  /** Bodies being read at once, for all owners. */
  readonly countMax: number;
  /** For one body, from the beginning of its reading. */
  readonly timeoutMs: number;
};

type Reading = { readonly stop: (problem: Problem) => void };

/** The rest of such a body is not read: its connection ends with the answer. */
const CLOSE = { connection: 'close' };
const tooMany = () => overloaded('Too many of your requests are still sending their bodies.', CLOSE);
const tooSlow = () => new Problem('request-timeout', 'The body did not arrive in time.', { headers: CLOSE });

/**
 * Bounds the bodies that are being read. Requests in flight have a separate bound, because a body
 * costs memory but no work, and a client may send it slowly or never finish it.
 *
 * When an owner has used its share, its newest body displaces its oldest: a client that shares an
 * owner with an attacker still gets through, because an honest body is complete within
 * milliseconds.
 */
export class BodyReads {
  readonly #options: Options;
  readonly #shares: FairShares;
  /** By app, or owner without apps; the oldest first. */
  readonly #readings = new Map<string, Set<Reading>>();

  constructor(options: Options) {
    this.#options = options;
    this.#shares = new FairShares(options.countMax);
  }

  get count(): number {
    return this.#shares.count;
  }

  /**
   * Reads a body within the bounds.
   *
   * @throws Problem `overloaded` if the body is displaced, or finds no free slot; `request-timeout`
   */
  async read<T>(owner: Owner, read: () => Promise<T>): Promise<T> {
    if (!this.#shares.take(owner)) {
      const [oldest] = this.#readings.get(nameOf(owner)) ?? [];
      oldest?.stop(tooMany());
      if (!this.#shares.take(owner)) throw tooMany();
    }
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#remove(owner, reading);
    };
    const reading: Reading = {
      stop(problem) {
        end();
        reject(problem);
      },
    };
    const timer = setTimeout(() => reading.stop(tooSlow()), this.#options.timeoutMs);
    this.#add(owner, reading);
    try {
      return await Promise.race([read(), stopped]);
    } finally {
      end();
    }
  }

  #add(owner: Owner, reading: Reading): void {
    const others = this.#readings.get(nameOf(owner));
    if (others) others.add(reading);
    else this.#readings.set(nameOf(owner), new Set([reading]));
  }

  #remove(owner: Owner, reading: Reading): void {
    const others = this.#readings.get(nameOf(owner));
    others?.delete(reading);
    if (others?.size === 0) this.#readings.delete(nameOf(owner));
    this.#shares.give(owner);
  }
}

const nameOf = (owner: Owner): string => (typeof owner === 'string' ? owner : owner.clientId);
