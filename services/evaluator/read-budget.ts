import { ServiceError } from '#shared/errors.ts';
import { FairShares } from '#shared/fair-shares.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';

/**
 * Reads of the checks in progress in one process: of sync checks, and of all others, so that an app's sync checks do not wait
 * for its batches. A planned read of a delegation has about 1.5 KB, one of a balance 400 bytes.
 */
export const READS_IN_PROGRESS_MAX = { sync: 50_000, others: 100_000 } as const;

type Reads = {
  readonly clientId: string;
  readonly count: number;
  /** The record of the check. */
  readonly record: Pick<RecordContext, 'alive' | 'park'>;
};
type Waiter = Pick<Reads, 'count'> & {
  readonly start: () => void;
  readonly alive: () => void;
  readonly sinceMs: number;
};
/** Once a check of an app that holds no reads has waited for this time, no other starts before it: small checks could keep it waiting for ever. */
const AGED_MS = 5_000;

/**
 * Bounds the reads that the checks in progress have planned: their number bounds the memory, and one check may have 10 000.
 * Small checks are not counted.
 *
 * A client app alone may hold half of them, each of N busy apps 1/(N + 1). Checks beyond that wait without a plan, those of
 * one app in their order. The oldest of an app that holds none goes before all others after five seconds.
 *
 * @example
 * const budget = new ReadBudget(100_000);
 * await budget.run({ clientId: 'app_1', count: 9_792, record }, () => evaluate(check, record));
 */
export class ReadBudget {
  readonly #shares: FairShares;
  readonly #waiting = new Map<string, Waiter[]>();

  readonly #nowMs: () => number;

  /** @param nowMs monotonic clock */
  constructor(readsMax: number, nowMs: () => number = performance.now.bind(performance)) {
    this.#shares = new FairShares(readsMax);
    this.#nowMs = nowMs;
  }

  /**
   * Runs the work once the app may hold so many reads more, and gives them back; a waiting record is parked.
   *
   * @throws ServiceError `overloaded` if the process stops while the work waits, and what the work throws
   */
  async run<T>(reads: Reads, work: () => Promise<T>): Promise<T> {
    const { clientId, count } = reads;
    const mustWait = this.#waiting.has(clientId) || this.#findAged() !== undefined;
    if (mustWait || !this.#shares.take(clientId, count)) await this.#wait(reads);
    try {
      return await work();
    } finally {
      this.#shares.give(clientId, count);
      this.#startWaiting();
    }
  }

  #wait({ clientId, count, record: { alive, park } }: Reads): Promise<void> {
    return new Promise((start, reject) => {
      const queue = this.#waiting.get(clientId) ?? [];
      this.#waiting.set(clientId, queue);
      const waiter = { count, start, alive, sinceMs: this.#nowMs() };
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
    // As long as reads are given back, the wait is no stall.
    for (const queue of this.#waiting.values()) for (const { alive } of queue) alive();
    for (let aged = this.#findAged(); aged !== undefined; aged = this.#findAged())
      if (!this.#startFirst(aged)) return;
    for (const clientId of this.#waiting.keys()) while (this.#startFirst(clientId));
  }

  /** The app that holds no reads and whose first check has waited longest, if that is long. */
  #findAged(): string | undefined {
    let aged: string | undefined;
    let sinceMs = this.#nowMs() - AGED_MS;
    for (const [clientId, [first]] of this.#waiting)
      if (first !== undefined && first.sinceMs < sinceMs && this.#shares.heldBy(clientId) === 0)
        [aged, sinceMs] = [clientId, first.sinceMs];
    return aged;
  }

  /** Starts the first waiting check of an app; false if there is none, or if it must wait. */
  #startFirst(clientId: string): boolean {
    const queue = this.#waiting.get(clientId);
    const first = queue?.[0];
    if (first === undefined || !this.#shares.take(clientId, first.count)) return false;
    queue?.shift();
    if (queue?.length === 0) this.#waiting.delete(clientId);
    first.start();
    return true;
  }
}
