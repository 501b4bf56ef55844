import { PART_READS_MAX } from '#shared/contracts/batches/batch.ts';
import { READS_MAX } from '#shared/contracts/rules/count-reads.ts';
import { ServiceError } from '#shared/errors.ts';
import { FairQueue } from '#shared/fairness/fair-queue.ts';
import { type AppOwner, FairShares } from '#shared/fairness/fair-shares.ts';
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
  readonly owner: AppOwner;
  readonly count: number;
  /** The record of the check. */
  readonly record: Pick<RecordContext, 'alive' | 'park'>;
};
type Waiter = {
  readonly accountId: string;
  readonly count: number;
  readonly start: () => void;
  readonly alive: () => void;
};

/** Once checks of an account that holds no reads have waited for this time, no other starts before
 * them: small checks could keep them waiting for ever. */
const AGED_MS = 5_000;
/** Apps whose next check is looked at when reads are returned. */
const LOOKS_MAX = 16;
/** How often waiting checks report that they are alive while reads are returned. */
const ALIVE_INTERVAL_MS = 1_000;

/**
 * Bounds the reads that the checks in progress have planned: their number bounds the memory, and
 * one check may have 10 000. Small checks are not counted.
 *
 * Checks beyond the share of their account and app wait without a plan, those of one app in their
 * order. Those of an account that holds none go before all others after five seconds. A step costs
 * the same however many wait.
 *
 * @example
 * const budget = new ReadBudget(READS_IN_PROGRESS.others);
 * await budget.run({ owner: check, count: 9_792, record }, () => evaluate(check, record));
 */
export class ReadBudget {
  readonly #shares: FairShares;
  readonly #waiting = new FairQueue<Waiter>();
  /** Since when accounts wait that hold no reads; the longest first. */
  readonly #emptySince = new Map<string, number>();
  #notedAliveMs = Number.NEGATIVE_INFINITY;
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
      this.#noteEmpty(owner.accountId);
      this.#startWaiting();
    }
  }

  #wait({ owner, count, record: { alive, park } }: Reads): Promise<void> {
    return new Promise((start, reject) => {
      const waiter = { accountId: owner.accountId, count, start, alive };
      this.#waiting.push(owner, waiter);
      this.#noteEmpty(owner.accountId);
      park(() => {
        if (!this.#waiting.remove(owner, waiter)) return;
        this.#noteEmpty(owner.accountId);
        reject(new ServiceError('overloaded', 'the process stopped before the check was evaluated'));
      });
    });
  }

  #startWaiting(): void {
    this.#noteAlive();
    for (;;) {
      const next = this.#waiting.take(({ count }, owner) => this.#shares.take(owner, count), {
        looksMax: LOOKS_MAX,
        ...this.#findAged(),
      });
      if (next === undefined) return;
      this.#noteEmpty(next.accountId);
      next.start();
    }
  }

  /** As long as reads are returned, the wait is not a stall. */
  #noteAlive(): void {
    const nowMs = this.#nowMs();
    if (nowMs - this.#notedAliveMs < ALIVE_INTERVAL_MS) return;
    this.#notedAliveMs = nowMs;
    for (const [, waiters] of this.#waiting.queues()) for (const { alive } of waiters) alive();
  }

  /** Notes whether the account waits and holds no reads. */
  #noteEmpty(accountId: string): void {
    const isEmpty = this.#waiting.has(accountId) && this.#shares.heldBy(accountId) === 0;
    if (!isEmpty) this.#emptySince.delete(accountId);
    else if (!this.#emptySince.has(accountId)) this.#emptySince.set(accountId, this.#nowMs());
  }

  /** The account that has waited the longest of those that hold no reads, if that is long. */
  #findAged(): { readonly of: string } | undefined {
    const [[accountId, sinceMs] = ['', Number.POSITIVE_INFINITY]] = this.#emptySince;
    return this.#nowMs() - sinceMs > AGED_MS ? { of: accountId } : undefined;
  }
}
