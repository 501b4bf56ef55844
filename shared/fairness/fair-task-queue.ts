import { ServiceError } from '#shared/errors.ts';
import { FairQueue } from './fair-queue.ts';
import { FairShares, type Owner } from './fair-shares.ts';

type Options = {
  readonly atOnceMax: number;
  /** Maximum of running tasks of one app; then accounts and their apps also have their shares of
   * all. Default: one owner may run all. */
  readonly ofAppMax?: () => number;
  /** Whether the place of a task stays taken as long again as the task took. So tasks that cost this
   * process time take at most half of it, however many there are. Default: no. */
  readonly rests?: boolean;
  /** Maximum of waiting tasks, of all owners together. */
  readonly waitingMax: number;
  /** Message of the error for a dropped task. */
  readonly refusal: string;
};

/** The longest rest. A task that took longer waited for something else. */
const REST_MS_MAX = 500;

type Waiter = { readonly start: () => void; readonly refuse: (reason: unknown) => void };

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
  readonly #shares: FairShares | undefined;
  #runningCount = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#shares = options.ofAppMax && new FairShares(options.atOnceMax);
  }

  /**
   * @param signal ends the wait
   * @throws ServiceError `overloaded` if the task was dropped from its queue; the signal's reason
   */
  async run<T>(owner: Owner, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#mayRun(owner)) this.#begin(owner);
    else await this.#wait(owner, signal);
    const beganMs = performance.now();
    try {
      return await task();
    } finally {
      const restMs = Math.min(performance.now() - beganMs, REST_MS_MAX);
      if (this.#options.rests) setTimeout(() => this.#end(owner), restMs);
      else this.#end(owner);
    }
  }

  #mayRun(owner: Owner): boolean {
    const { atOnceMax, ofAppMax } = this.#options;
    if (this.#runningCount >= atOnceMax) return false;
    if (this.#shares === undefined || ofAppMax === undefined) return true;
    return this.#shares.heldBy(owner) < ofAppMax() && this.#shares.hasRoom(owner);
  }

  #begin(owner: Owner): void {
    this.#runningCount += 1;
    this.#shares?.take(owner);
  }

  #end(owner: Owner): void {
    this.#runningCount -= 1;
    this.#shares?.give(owner);
    this.#startWaiting();
  }

  #startWaiting(): void {
    const take = () =>
      this.#waiting.take((_, owner) => {
        if (!this.#mayRun(owner)) return false;
        this.#begin(owner);
        return true;
      });
    for (let next = take(); next !== undefined; next = take()) next.start();
  }

  /** Resolves once the task has its place. */
  async #wait(owner: Owner, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve: start, reject: refuse } = Promise.withResolvers<void>();
    const waiter: Waiter = { start, refuse };
    const abandon = () => this.#waiting.remove(owner, waiter) && refuse(signal?.reason);
    this.#waiting.push(owner, waiter);
    if (this.#waiting.size > this.#options.waitingMax)
      this.#waiting.drop(owner)?.refuse(new ServiceError('overloaded', this.#options.refusal));
    signal?.addEventListener('abort', abandon);
    try {
      await promise;
    } finally {
      signal?.removeEventListener('abort', abandon);
    }
  }
}
