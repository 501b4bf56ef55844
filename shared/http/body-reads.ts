import { FairShares, type Owner } from '#shared/fairness/fair-shares.ts';

/** Why a body is read no further: its owner sends too many at once, or this one takes too long. */
export type BodyFault = 'too-many' | 'too-slow';

type Options = {
  /** Bodies being read at once, for all owners. */
  readonly countMax: number;
  /** For one body, from the beginning of its reading. */
  readonly timeoutMs: number;
  /** The handle that the reader of such a body gets. */
  readonly fail: (fault: BodyFault) => Error;
};

type Reading = { readonly stop: (fault: BodyFault) => void };

/**
 * Bounds the bodies that are being read. Requests in flight have a separate bound, because a body
 * costs memory but no work, and a client may send it slowly or never finish it.
 *
 * When an owner has used its share, its newest body displaces its oldest: a client that shares an
 * owner with an attacker still gets through, because an honest body is complete within
 * milliseconds.
 *
 * @example
 * const bodies = new BodyReads({ countMax: 512, timeoutMs: 10_000, fail });
 * const body = await bodies.read(app, () => readBody(request));
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
   * @throws the error of `fail`, if the body is displaced, takes too long, or finds no free slot
   */
  async read<T>(owner: Owner, read: () => Promise<T>): Promise<T> {
    const { timeoutMs, fail } = this.#options;
    if (!this.#shares.take(owner)) {
      const [oldest] = this.#readings.get(nameOf(owner)) ?? [];
      oldest?.stop('too-many');
      if (!this.#shares.take(owner)) throw fail('too-many');
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
      stop(fault) {
        end();
        reject(fail(fault));
      },
    };
    const timer = setTimeout(() => reading.stop('too-slow'), timeoutMs);
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
