import { ServiceError } from '#shared/errors.ts';

type Options = {
  /** Maximum of running work. */
  readonly atOnceMax: number;
  /** Maximum of waiting work, over all owners. */
  readonly waitingMax: number;
  /** Message of the error for refused work. */
  readonly refusal: string;
};

type Waiter = { readonly start: () => void; readonly refuse: () => void };

/**
 * Runs a bounded number of tasks at a time, with one queue per owner. Queues are served round-robin, so an owner delays
 * another by at most one task per round. If too many tasks wait, the longest queue loses its newest task.
 *
 * @example
 * const turns = new FairTurns({ atOnceMax: 2, waitingMax: 64, refusal: 'too many password checks are waiting' });
 * const hash = await turns.do(address, () => stretch(password));
 */
export class FairTurns {
  readonly #options: Options;
  /** Queues by owner; the next owner to be served is first. */
  readonly #lines = new Map<string, Waiter[]>();
  #runningCount = 0;
  #waitingCount = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** @throws ServiceError `overloaded` if the work was dropped from the queue before it began */
  async do<T>(owner: string, work: () => Promise<T>): Promise<T> {
    if (this.#runningCount < this.#options.atOnceMax) this.#runningCount += 1;
    else await this.#wait(owner);
    try {
      return await work();
    } finally {
      // The slot passes to the next waiting task, or becomes free.
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

  /** Refuses the newest task of the longest queue; of equally long queues, the newcomer's. */
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
