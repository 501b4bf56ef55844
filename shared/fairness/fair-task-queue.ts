import { ServiceError } from '#shared/errors.ts';
import { FairQueue } from './fair-queue.ts';
import type { Owner } from './fair-shares.ts';

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
 * Runs a bounded number of tasks at a time, those that wait in the turns of a fair queue. If too
 * many tasks wait, the longest queue loses its newest task.
 *
 * @example
 * const queue = new FairTaskQueue({ atOnceMax: 2, waitingMax: 64, refusal: 'too many password checks are waiting' });
 * const hash = await queue.run(address, () => stretch(password));
 */
export class FairTaskQueue {
  readonly #options: Options;
  readonly #waiting = new FairQueue<Waiter>();
  #runningCount = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** @throws ServiceError `overloaded` if the task was dropped from its queue */
  async run<T>(owner: Owner, task: () => Promise<T>): Promise<T> {
    if (this.#runningCount < this.#options.atOnceMax) this.#runningCount += 1;
    else await this.#wait(owner);
    try {
      return await task();
    } finally {
      // The slot passes to the next waiting task, or becomes free.
      const next = this.#waiting.take();
      if (next) next.start();
      else this.#runningCount -= 1;
    }
  }

  #wait(owner: Owner): Promise<void> {
    return new Promise((start, reject) => {
      const refuse = () => reject(new ServiceError('overloaded', this.#options.refusal));
      this.#waiting.push(owner, { start, refuse });
      if (this.#waiting.size > this.#options.waitingMax) this.#waiting.drop(owner)?.refuse();
    });
  }
}
