import { ServiceError } from '#shared/errors.ts';

type Options = {
  /** Maximum of running tasks. */
  readonly atOnceMax: number;
  /** Maximum of waiting tasks, of all owners together. */
  readonly waitingMax: number;
  /** Message of the error for a dropped task. */
  readonly refusal: string;
};

type Waiter = { readonly start: () => void; readonly refuse: () => void };

/**
 * Runs a bounded number of tasks at a time, with one queue per owner. Queues are served round-robin, so an owner delays
 * another by at most one task per round. If too many tasks wait, the longest queue loses its newest task.
 *
 * @example
 * const queue = new FairTaskQueue({ atOnceMax: 2, waitingMax: 64, refusal: 'too many password checks are waiting' });
 * const hash = await queue.run(address, () => stretch(password));
 */
export class FairTaskQueue {
  readonly #options: Options;
  /** Queues by owner; the next owner to be served is first. */
  readonly #queues = new Map<string, Waiter[]>();
  #runningCount = 0;
  #waitingCount = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** @throws ServiceError `overloaded` if the task was dropped from its queue */
  async run<T>(owner: string, task: () => Promise<T>): Promise<T> {
    if (this.#runningCount < this.#options.atOnceMax) this.#runningCount += 1;
    else await this.#wait(owner);
    try {
      return await task();
    } finally {
      // The slot passes to the next waiting task, or becomes free.
      if (!this.#startNext()) this.#runningCount -= 1;
    }
  }

  #wait(owner: string): Promise<void> {
    return new Promise((start, reject) => {
      const queue = this.#queues.get(owner) ?? [];
      queue.push({ start, refuse: () => reject(new ServiceError('overloaded', this.#options.refusal)) });
      this.#queues.set(owner, queue);
      this.#waitingCount += 1;
      if (this.#waitingCount > this.#options.waitingMax) this.#refuseOne(owner);
    });
  }

  #startNext(): boolean {
    for (const [owner, queue] of this.#queues) {
      const next = queue.shift();
      this.#queues.delete(owner);
      if (queue.length > 0) this.#queues.set(owner, queue);
      this.#waitingCount -= 1;
      next?.start();
      return true;
    }
    return false;
  }

  /** Refuses the newest task of the longest queue; of equally long queues, the newcomer's. */
  #refuseOne(newcomer: string): void {
    let longest = newcomer;
    const lengthOf = (owner: string) => this.#queues.get(owner)?.length ?? 0;
    for (const [owner] of this.#queues) if (lengthOf(owner) > lengthOf(longest)) longest = owner;
    const queue = this.#queues.get(longest);
    const refused = queue?.pop();
    if (queue?.length === 0) this.#queues.delete(longest);
    this.#waitingCount -= 1;
    refused?.refuse();
  }
}
