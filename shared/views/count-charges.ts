import {
  type BatchPartCompleted,
  type BatchPartRequested,
  batchCompleted,
  checkRequestedBatch,
} from '#shared/contracts/batch.ts';
import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { CheckRequested } from '#shared/contracts/check-requested.ts';
import type { Usage } from '#shared/contracts/usage.ts';

/** Most ids remembered to count a check once that is in a lane twice; beyond it a duplicate may count twice. */
const IDS_MAX = 2_000_000;

type Charged = Pick<CheckRequested, 'clientId' | 'chargedMonth'>;

type Charge = { readonly clientId: string; readonly month: string; readonly count: number };

/**
 * Rebuilds the months' counters from the topics: the last published totals, and the records after them.
 *
 * The totals were read together with an instant: all checks accepted before it are counted, all others come later. So a
 * check is in the totals exactly if its `acceptedAt` is before that instant. Only a refund between the total and the
 * wipe is out of order: it is found by the time at which its result was published.
 */
export class ChargeCount {
  readonly #totals = new Map<string, { asOfMs: number; count: number }>();
  readonly #counted = new Set<string>();
  readonly #refunded = new Set<string>();

  /** Takes a published total; a later one of the same month replaces an earlier one. */
  addTotal({ clientId, month, monthTotal, asOf }: Usage): void {
    const key = keyOf(clientId, month);
    const asOfMs = Date.parse(asOf);
    if (asOfMs >= (this.#totals.get(key)?.asOfMs ?? 0)) this.#totals.set(key, { asOfMs, count: monthTotal });
  }

  /** Takes a check of a lane. All totals must have been taken before. */
  addCheck(check: CheckRequested): void {
    this.#charge(check, check.requestId, 1);
  }

  /** Takes a part of a batch: each of its entries is a check. All totals must have been taken before. */
  addPart(part: BatchPartRequested): void {
    this.#charge(part, checkRequestedBatch.keyOf(part), part.entries.length);
  }

  /** Takes a result: if nothing was decided, its check was refunded, once. */
  addResult(result: CheckCompleted, publishedAtMs: number): void {
    if (!result.decided) this.#refund(result, result.requestId, 1, publishedAtMs);
  }

  /** Takes the results of a part: its undecided entries are refunded, once. */
  addPartResult(part: BatchPartCompleted, publishedAtMs: number): void {
    if (part.refundCount > 0) this.#refund(part, batchCompleted.keyOf(part), part.refundCount, publishedAtMs);
  }

  #charge(
    { clientId, chargedMonth, acceptedAt }: Charged & { acceptedAt: string },
    id: string,
    count: number,
  ) {
    if (chargedMonth === undefined) return;
    const total = this.#totalOf(clientId, chargedMonth);
    if (Date.parse(acceptedAt) < total.asOfMs || this.#counted.has(id)) return;
    if (this.#counted.size < IDS_MAX) this.#counted.add(id);
    total.count += count;
  }

  #refund({ clientId, chargedMonth }: Charged, id: string, count: number, publishedAtMs: number) {
    if (chargedMonth === undefined || this.#refunded.has(id)) return;
    const total = this.#totalOf(clientId, chargedMonth);
    if (publishedAtMs < total.asOfMs) return;
    if (this.#refunded.size < IDS_MAX) this.#refunded.add(id);
    total.count = Math.max(0, total.count - count);
  }

  /** The counters as they are to be put back. */
  charges(): Charge[] {
    return [...this.#totals].map(([key, { count }]) => {
      const [clientId = '', month = ''] = key.split(' ');
      return { clientId, month, count };
    });
  }

  #totalOf(clientId: string, month: string): { asOfMs: number; count: number } {
    const key = keyOf(clientId, month);
    const known = this.#totals.get(key) ?? { asOfMs: 0, count: 0 };
    this.#totals.set(key, known);
    return known;
  }
}

const keyOf = (clientId: string, month: string): string => `${clientId} ${month}`;
