import { ServiceError } from '#shared/errors.ts';
import { FairShares } from '#shared/fair-shares.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';

/**
 * Reads of the checks in progress in one process: of sync checks, and of all others, so that an app's sync checks do not wait
 * for its batches. A planned read of a delegation has about 1.5 KB, one of a balance 400 bytes.
 */
export const READS_IN_PROGRESS_MAX = { sync: 50_000, others: 100_000 } as const;

type Waiter = { readonly count: number; readonly start: () => void; readonly alive: () => void };

/**
 * Bounds the reads that the checks in progress have planned: their number bounds the memory, and one check may have 10 000.
 * Small checks are not counted.
 *
 * A client app alone may hold half of them, each of N busy apps 1/(N + 1). Checks beyond that wait without a plan, those of
 * one app in their order.
 *
 * @example
 * const budget = new ReadBudget(100_000);
 * const release = await budget.acquire('app_1', 9_792, record);
 * try { … } finally { release(); }
 */
export class ReadBudget {
  readonly #shares: FairShares;
  readonly #waiting = new Map<string, Waiter[]>();

  constructor(readsMax: number) {
    this.#shares = new FairShares(readsMax);
  }

  /**
   * Waits until the app may hold so many reads more; a waiting record is parked.
   *
   * @returns gives the reads back; to be called once
   * @throws ServiceError `overloaded` if the process stops meanwhile
   */
  async acquire(
    clientId: string,
    count: number,
    record: Pick<RecordContext, 'alive' | 'park'>,
  ): Promise<() => void> {
    if (this.#waiting.has(clientId) || !this.#shares.take(clientId, count))
      await this.#wait(clientId, count, record);
    return () => {
      this.#shares.give(clientId, count);
      this.#startWaiting();
    };
  }

  #wait(
    clientId: string,
    count: number,
    { alive, park }: Pick<RecordContext, 'alive' | 'park'>,
  ): Promise<void> {
    return new Promise((start, reject) => {
      const queue = this.#waiting.get(clientId) ?? [];
      this.#waiting.set(clientId, queue);
      const waiter = { count, start, alive };
      queue.push(waiter);
      park(() => {
        const index = queue.indexOf(waiter);
        if (index < 0) return;
        queue.splice(index, 1);
        if (queue.length === 0) this.#waiting.delete(clientId);
        reject(new ServiceError('overloaded', 'the process stopped before the check was evaluated'));
      });
    });
  }

  #startWaiting(): void {
    for (const [clientId, queue] of this.#waiting) {
      // As long as reads are given back, the wait is no stall.
      for (const { alive } of queue) alive();
      while (queue[0] !== undefined && this.#shares.take(clientId, queue[0].count)) queue.shift()?.start();
      if (queue.length === 0) this.#waiting.delete(clientId);
    }
  }
}
