import { ServiceError } from '#shared/errors.ts';

type Options = {
  /** Done at once. */
  readonly atOnceMax: number;
  /** Waiting, of all owners. */
  readonly waitingMax: number;
  /** What is said where there is too much. */
  readonly refusal: string;
};

type Waiter = { readonly start: () => void; readonly refuse: () => void };

/**
 * Does work a few at a time. The owners of what waits take turns, so nobody's queue delays another by more than one
 * piece of work a round. Where too many wait, the owner with the most loses its newest.
 *
 * @example
 * const turns = new FairTurns({ atOnceMax: 2, waitingMax: 64, refusal: 'too many passwords are being worked on' });
 * const hash = await turns.do(address, () => stretch(password));
 */
export class FairTurns {
  readonly #options: Options;
  /** By owner, whose turn is next first. */
  readonly #lines = new Map<string, Waiter[]>();
  #runningCount = 0;
  #waitingCount = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** @throws ServiceError `overloaded` where the work did not begin, because too much of this owner's waits */
  async do<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#runningCount < this.#options.atOnceMax) this.#runningCount += 1;
    else await this.#wait(owner);
    try {
      return await work();
    } finally {
      // The slot goes to whoever is next, or becomes free.
      if (!this.#startNext()) this.#runningCount -= 1;
    }
  }

  #wait(owner: string): Promise<void> {
    return new Promise((start, reject) => {
      const line = this.#lines.get(owner) ?? [];
      line.push({ start, refuse: () => reject(new ServiceError('overloaded', this.#options.refusal)) });
      this.#lines.set(owner, line);
      this.#waitingCount += 1;
      if (this.#waitingCount > this.#options.waitingMax) this.#refuseOne(owner);
    });
  }

  #startNext(): boolean {
    for (const [owner, line] of this.#lines) {
      const next = line.shift();
      this.#lines.delete(owner);
      if (line.length > 0) this.#lines.set(owner, line);
      this.#waitingCount -= 1;
      next?.start();
      return true;
    }
    return false;
  }

  /** The newest of the longest line: of the newcomer's, where it is as long. */
  #refuseOne(newcomer: string): void {
    let longest = newcomer;
    const lengthOf = (owner: string) => this.#lines.get(owner)?.length ?? 0;
    for (const [owner] of this.#lines) if (lengthOf(owner) > lengthOf(longest)) longest = owner;
    const line = this.#lines.get(longest);
    const refused = line?.pop();
    if (line?.length === 0) this.#lines.delete(longest);
    this.#waitingCount -= 1;
    refused?.refuse();
  }
}
