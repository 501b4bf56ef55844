import {
  type BatchPartCompleted,
  type BatchPartRequested,
  batchCompleted,
  checkRequestedBatch,
} from '#shared/contracts/batches/batch.ts';
import type { EvaluatedCheck } from '#shared/contracts/checks/check-completed.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';
import type { MonthCharges } from '#shared/stores/replay/restore-admission.ts';

/** Most ids remembered to count a check once that is in a lane twice; beyond it a duplicate may
 * count twice. */
const IDS_MAX = 2_000_000;
/** Refunds of checks that were accepted before are taken from the totals: the topics of results
 * keep seven days. */
const RECOUNTED_MS = 6 * DAY_MS;

type Charged = Pick<CheckRequested, 'clientId' | 'chargedMonth' | 'acceptedAt'>;

type Total = { readonly asOfMs: number; readonly count: number; readonly refunds: number };
const NOTHING: Total = { asOfMs: 0, count: 0, refunds: 0 };

/** `latest` and `base`: the last published total, and the last one from before the results that are
 * counted again. */
type Month = { latest: Total; base: Total; charged: number; refunded: number };

/**
 * Rebuilds the months' counters from the topics:
 *
 *   counter = latest total without its refunds + checks accepted since - refunds until `base` - refunds of checks accepted since
 *
 * The totals were read together with an instant: all checks accepted before it are counted, all
 * others come later. So a check is in a total exactly if its `acceptedAt` is before that instant.
 * Nothing tells whether a refund is in a total; so a total says how many are, and all refunds are
 * counted again.
 */
export class ChargeCount {
  readonly #recountedFromMs: number;
  readonly #months = new Map<string, Month>();
  readonly #counted = new Set<string>();
  readonly #refunded = new Set<string>();

  constructor(nowMs: number) {
    this.#recountedFromMs = nowMs - RECOUNTED_MS;
  }

  /** Takes a published total; a later one of the same month replaces an earlier one. */
  addTotal({ clientId, month, monthTotal, monthRefunds, asOf }: Usage): void {
    const known = this.#monthOf(clientId, month);
    const total = { asOfMs: Date.parse(asOf), count: monthTotal, refunds: monthRefunds };
    if (total.asOfMs >= known.latest.asOfMs) known.latest = total;
    if (total.asOfMs < this.#recountedFromMs && total.asOfMs >= known.base.asOfMs) known.base = total;
  }

  /** Takes a check of a lane. All totals must have been taken before. */
  addCheck(check: CheckRequested): void {
    this.#charge(check, check.requestId, 1);
  }

  /** Takes a part of a batch: each of its entries is a check. All totals must have been taken
   * before. */
  addPart(part: BatchPartRequested): void {
    this.#charge(part, checkRequestedBatch.keyOf(part), part.entries.length);
  }

  /** Takes a result: if nothing was decided, its check was refunded, once. All totals must have
   * been taken before. */
  addResult(result: EvaluatedCheck): void {
    if (!result.decided) this.#refund(result, result.requestId, 1);
  }

  /** Takes the results of a part: its undecided entries are refunded, once. All totals must have
   * been taken before. */
  addPartResult(part: BatchPartCompleted): void {
    if (part.refundCount > 0) this.#refund(part, batchCompleted.keyOf(part), part.refundCount);
  }

  #charge({ clientId, chargedMonth, acceptedAt }: Charged, id: string, count: number): void {
    if (chargedMonth === undefined) return;
    const month = this.#monthOf(clientId, chargedMonth);
    if (Date.parse(acceptedAt) < month.latest.asOfMs || !isFirst(this.#counted, id)) return;
    month.charged += count;
  }

  #refund({ clientId, chargedMonth, acceptedAt }: Charged, id: string, count: number): void {
    if (chargedMonth === undefined) return;
    const month = this.#monthOf(clientId, chargedMonth);
    if (Date.parse(acceptedAt) < month.base.asOfMs || !isFirst(this.#refunded, id)) return;
    month.refunded += count;
  }

  /** The counters as they are to be put back. */
  charges(): MonthCharges[] {
    return [...this.#months].map(([key, { latest, base, charged, refunded }]) => {
      const [clientId = '', month = ''] = key.split(' ');
      const refunds = base.refunds + refunded;
      return {
        clientId,
        month,
        count: Math.max(0, latest.count + latest.refunds + charged - refunds),
        refunds,
      };
    });
  }

  #monthOf(clientId: string, month: string): Month {
    const key = `${clientId} ${month}`;
    const known = this.#months.get(key) ?? { latest: NOTHING, base: NOTHING, charged: 0, refunded: 0 };
    this.#months.set(key, known);
    return known;
  }
}

function isFirst(ids: Set<string>, id: string): boolean {
  if (ids.has(id)) return false;
  if (ids.size < IDS_MAX) ids.add(id);
  return true;
}
