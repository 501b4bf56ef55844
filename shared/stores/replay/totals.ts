import { type BatchPartRequested, checkRequestedBatch } from '#shared/contracts/batches/batch.ts';
import type { CheckRequested } from '#shared/contracts/checks/check-requested.ts';
import { type Usage, usage } from '#shared/contracts/usage/usage.ts';
import { DAY_KEPT_MS, dayOfDate, HOUR_KEPT_MS, hourOf } from '../usage/usage-days.ts';
import type { OpenViews } from './open-views.ts';

/** Most ids remembered to count a check once that is in a lane twice; beyond it a duplicate may
 * count twice. */
const IDS_MAX = 2_000_000;

type Accepted = Pick<CheckRequested, 'clientId' | 'chargedMonth' | 'acceptedAt'>;

/**
 * The totals of `usage.v1`, and the charges since:
 *
 *   counter of a month = its newest total + the checks of the lanes that were accepted since
 *
 * A total was read together with the instant `asOf`: it has every charge of a check that was accepted
 * before, and none of a later one. Of figures and refunds, which follow from results, it may have
 * those of a check that was accepted before, and has none of a later one.
 */
export class Totals {
  readonly #beforeMs: number;
  readonly #nowMs: number;
  /** By client app, the newest instant. */
  readonly #asOfMs = new Map<string, number>();
  /** The newest totals, by client app and subject. */
  readonly #months = new Map<string, Usage>();
  readonly #days = new Map<string, Usage>();
  readonly #hours = new Map<string, Usage>();
  /** By client app and month. */
  readonly #charged = new Map<string, number>();
  readonly #counted = new Set<string>();

  /** @param beforeMs totals that were read then or later are left out */
  constructor(nowMs: number, beforeMs: number = Infinity) {
    this.#nowMs = nowMs;
    this.#beforeMs = beforeMs;
  }

  add(total: Usage): void {
    const { clientId, month, hour } = total;
    const asOfMs = Date.parse(total.asOf);
    if (asOfMs >= this.#beforeMs) return;
    this.#asOfMs.set(clientId, Math.max(asOfMs, this.#asOfMs.get(clientId) ?? 0));
    // By the instant it was read at: of two publishers the slow one may have written last.
    const keep = (totals: Map<string, Usage>, key: string) => {
      if (total.asOf >= (totals.get(key)?.asOf ?? '')) totals.set(key, total);
    };
    keep(this.#months, keyOf(clientId, month));
    keep(this.#days, keyOf(clientId, hour.slice(0, 10)));
    if (startOf(total) >= this.#nowMs - HOUR_KEPT_MS) keep(this.#hours, usage.keyOf(total));
  }

  /** Whether the totals may have the figures and refund of a check's result. */
  mayHave({ clientId, acceptedAt }: Pick<Accepted, 'clientId' | 'acceptedAt'>): boolean {
    return Date.parse(acceptedAt) < (this.#asOfMs.get(clientId) ?? 0);
  }

  /** Takes a check of a lane. All totals must have been taken before. */
  addCheck(check: CheckRequested): void {
    this.#charge(check, check.requestId, 1);
  }

  /** Takes a part of a batch: each of its entries is a check. Those of a watch are not counted: they
   * are charged at another time than they are accepted, so a total may have them. */
  addPart(part: BatchPartRequested): void {
    if (part.delivery.mode !== 'watch')
      this.#charge(part, checkRequestedBatch.keyOf(part), part.entries.length);
  }

  #charge(check: Accepted, id: string, count: number): void {
    const { clientId, chargedMonth } = check;
    if (chargedMonth === undefined || this.mayHave(check) || this.#counted.has(id)) return;
    if (this.#counted.size < IDS_MAX) this.#counted.add(id);
    const key = keyOf(clientId, chargedMonth);
    this.#charged.set(key, (this.#charged.get(key) ?? 0) + count);
  }

  /** Raises counters and figures to the totals. An app without a total is new, or its counter is
   * there. */
  async restore({ admission, usageDays }: OpenViews): Promise<void> {
    const oldest = dayOfDate(new Date(this.#nowMs - DAY_KEPT_MS).toISOString().slice(0, 10));
    const months = new Set([...this.#months.keys(), ...this.#charged.keys()]);
    await inSlices([...months], async (key) => {
      const [clientId = '', month = ''] = key.split(' ');
      const { monthTotal: total = 0, monthOfWatches: ofWatches = 0 } = this.#months.get(key) ?? {};
      const since = this.#charged.get(key) ?? 0;
      await admission.raiseCounter({ clientId, month, total, since, ofWatches });
    });
    await inSlices([...this.#days.values()], async ({ clientId, hour, day }) => {
      const date = dayOfDate(hour.slice(0, 10));
      if (date >= oldest) await usageDays.restore(clientId, date, day);
    });
    await inSlices([...this.#hours.values()], (total) =>
      usageDays.restoreHour(total.clientId, hourOf(startOf(total)), total.ofHour),
    );
  }
}

const SLICE_COUNT = 500;

async function inSlices<T>(all: readonly T[], restore: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += SLICE_COUNT)
    await Promise.all(all.slice(at, at + SLICE_COUNT).map(restore));
}

const keyOf = (clientId: string, time: string): string => `${clientId} ${time}`;

const startOf = ({ hour }: Usage): number => Date.parse(`${hour}:00:00Z`);
