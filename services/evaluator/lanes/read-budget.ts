import { PART_READS_MAX } from '#shared/contracts/batches/batch.ts';
import { READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { ServiceError } from '#shared/errors.ts';
import { FairQueue } from '#shared/fairness/fair-queue.ts';
import { FairShares, type Owner } from '#shared/fairness/fair-shares.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';

/**
 * Reads of the checks in progress in one process: of sync checks, and of all others, so that an
 * app's sync checks do not wait for its batches. A planned read of a delegation has about 1.5 KB,
 * one of a balance 400 bytes.
 */
export const READS_IN_PROGRESS = {
  sync: { max: 50_000, ofCheckMax: READS_MAX.interactive },
  others: { max: 100_000, ofCheckMax: PART_READS_MAX },
} as const;

type Reads = {
  readonly owner: Owner;
  readonly count: number;
  /** The record of the check. */
  readonly record: Pick<RecordContext, 'alive' | 'park'>;
};
type Waiter = Pick<Reads, 'count'> & {
  readonly start: () => void;
  readonly alive: () => void;
  readonly sinceMs: number;
};
/** Once a check of an account that holds no reads has waited for this time, no other starts before
 * it: small checks could keep it waiting for ever. */
const AGED_MS = 5_000;

/**
 * Bounds the reads that the checks in progress have planned: their number bounds the memory, and
 * one check may have 10 000. Small checks are not counted.
 *
 * Checks beyond the share of their account and app wait without a plan, those of one app in their
 * order. The oldest of an account that holds none goes before all others after five seconds.
 *
 * @example
 * const budget = new ReadBudget(READS_IN_PROGRESS.others);
 * await budget.run({ owner: check, count: 9_792, record }, () => evaluate(check, record));
 */
export class ReadBudget {
  readonly #shares: FairShares;
  readonly #waiting = new FairQueue<Waiter>();

  readonly #nowMs: () => number;

  /** @param nowMs monotonic clock */
  constructor(
    { max, ofCheckMax }: { readonly max: number; readonly ofCheckMax: number },
    nowMs: () => number = performance.now.bind(performance),
  ) {
    this.#shares = new FairShares(max, { place: ofCheckMax });
    this.#nowMs = nowMs;
  }

  /**
   * Runs the work once the app may hold this many more reads, and returns them; a waiting record is
   * parked.
   *
   * @throws ServiceError `overloaded` if the process stops while the work waits, and what the work
   *   throws
   */
  async run<T>(reads: Reads, work: () => Promise<T>): Promise<T> {
    const { owner, count } = reads;
    const mustWait = this.#waiting.has(owner) || this.#findAged() !== undefined;
    if (mustWait || !this.#shares.take(owner, count)) await this.#wait(reads);
    try {
      return await work();
    } finally {
      this.#shares.give(owner, count);
      this.#startWaiting();
    }
  }

  #wait({ owner, count, record: { alive, park } }: Reads): Promise<void> {
    return new Promise((start, reject) => {
      const waiter = { count, start, alive, sinceMs: this.#nowMs() };
      this.#waiting.push(owner, waiter);
      park(() => {
        if (this.#waiting.remove(owner, waiter))
          reject(new ServiceError('overloaded', 'the process stopped before the check was evaluated'));
      });
    });
  }

  #startWaiting(): void {
    // As long as reads are returned, the wait is not a stall.
    for (const [, waiters] of this.#waiting.queues()) for (const { alive } of waiters) alive();
    for (let aged = this.#findAged(); ; aged = this.#findAged()) {
      const next = this.#waiting.take(
        (waiter, owner) => (aged ?? waiter) === waiter && this.#shares.take(owner, waiter.count),
      );
      if (next === undefined) return;
      next.start();
    }
  }

  /** The first waiting check of an account that holds no reads, if it has waited long; of several
   * the oldest. */
  #findAged(): Waiter | undefined {
    let aged: Waiter | undefined;
    let sinceMs = this.#nowMs() - AGED_MS;
    for (const [owner, [first]] of this.#waiting.queues())
      if (first !== undefined && first.sinceMs < sinceMs && this.#shares.heldByAccount(owner) === 0)
        [aged, sinceMs] = [first, first.sinceMs];
    return aged;
  }
}
