import { FairShares, type Owner, ownerName } from '#shared/fairness/fair-shares.ts';
import { overloaded, Problem } from './problem.ts';

type Options = {
  /** Bodies being read at once, for all owners. */
  readonly countMax: number;
  /** For one body, from the beginning of its reading. */
  readonly timeoutMs: number;
};

type Reading = { readonly name: string; readonly stop: (problem: Problem) => void };

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
  /** The oldest first. */
  readonly #readings = new Set<Reading>();

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
    const name = ownerName(owner);
    if (!this.#shares.take(owner)) {
      const oldest = this.#readings.values().find((each) => each.name === name);
      oldest?.stop(tooMany());
      if (!this.#shares.take(owner)) throw tooMany();
    }
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const end = () => {
      if (!this.#readings.delete(reading)) return;
      clearTimeout(timer);
      this.#shares.give(owner);
    };
    const reading: Reading = {
      name,
      stop(problem) {
        end();
        reject(problem);
      },
    };
    const timer = setTimeout(() => reading.stop(tooSlow()), this.#options.timeoutMs);
    this.#readings.add(reading);
    try {
      return await Promise.race([read(), stopped]);
    } finally {
      end();
    }
  }
}
