import { type BatchPartCompleted, batchCompleted } from '#shared/contracts/batches/batch.ts';
import type { EvaluatedCheck } from '#shared/contracts/checks/check-completed.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import {
  BYTES_FIGURE,
  countCheck,
  countPart,
  DAY_FIGURES_MAX,
  type DayFigures,
  KEY_FIGURE,
  OTHER_KEYS_FIGURE,
} from '#shared/contracts/usage/day-figures.ts';
import type { Usage } from '#shared/contracts/usage/usage.ts';

/** Days that the results' topic still has whole: it keeps seven. */
const RECOUNTED_DAYS = 6;
/** Most ids remembered to count a check once whose result is published twice; beyond it a duplicate
 * may count twice. */
const IDS_MAX = 2_000_000;

/** Hours that are counted by themselves. */
const HOURS_KEPT = 50;

type CountedHour = { readonly clientId: string; readonly hour: string; readonly figures: DayFigures };
type CountedDay = { readonly clientId: string; readonly date: string; readonly figures: DayFigures };

/**
 * Works the figures of the days out again from the topics: recent days from the results, each check
 * once; older ones from their last published counters; refusals and bytes, which no result records,
 * from what was published. The newest hours are counted in the same way.
 */
export class DayCount {
  readonly #recountedFrom: string;
  readonly #hoursFrom: string;
  readonly #recounted = new Map<string, Map<string, number>>();
  readonly #hours = new Map<string, Map<string, number>>();
  readonly #published = new Map<string, { asOfMs: number; figures: DayFigures }>();
  readonly #refused = new Map<string, Map<string, { asOfMs: number; count: number }>>();
  readonly #counted = new Set<string>();

  constructor(nowMs: number) {
    this.#recountedFrom = new Date(nowMs - RECOUNTED_DAYS * DAY_MS).toISOString().slice(0, 10);
    this.#hoursFrom = new Date(nowMs - HOURS_KEPT * HOUR_MS).toISOString().slice(0, 13);
  }

  /** Takes the published counters of an hour; a later record of the same hour replaces an earlier
   * one. */
  addTotal({ clientId, hour, refused, day, asOf }: Usage): void {
    const key = keyOf(clientId, hour.slice(0, 10));
    const asOfMs = Date.parse(asOf);
    const hours = this.#refused.get(key) ?? new Map<string, { asOfMs: number; count: number }>();
    this.#refused.set(key, hours);
    if (asOfMs >= (hours.get(hour)?.asOfMs ?? 0)) hours.set(hour, { asOfMs, count: refused });
    if (day && asOfMs >= (this.#published.get(key)?.asOfMs ?? 0))
      this.#published.set(key, { asOfMs, figures: day });
  }

  /** Takes a result, in the order of its partition: the first one of a check counts. */
  addResult(message: EvaluatedCheck): void {
    this.#count(message, message.requestId, countCheck);
  }

  /** Takes the results of a part, in the order of its partition: the first ones count. */
  addPart(part: BatchPartCompleted): void {
    this.#count(part, batchCompleted.keyOf(part), countPart);
  }

  #count<M extends { readonly acceptedAt: string; readonly clientId: string }>(
    message: M,
    id: string,
    figuresOf: (message: M) => { readonly date: string; readonly figures: DayFigures } | undefined,
  ): void {
    if (message.acceptedAt.slice(0, 10) < this.#recountedFrom || this.#counted.has(id)) return;
    if (this.#counted.size < IDS_MAX) this.#counted.add(id);
    const counted = figuresOf(message);
    if (!counted) return;
    addTo(this.#recounted, keyOf(message.clientId, counted.date), counted.figures);
    const hour = message.acceptedAt.slice(0, 13);
    if (hour < this.#hoursFrom) return;
    const withoutKeys = Object.entries(counted.figures).filter(([name]) => !name.startsWith(KEY_FIGURE));
    addTo(this.#hours, keyOf(message.clientId, hour), Object.fromEntries(withoutKeys));
  }

  /** The newest hours as they are to be put back. */
  hours(): CountedHour[] {
    const all = new Map([...this.#hours].map(([key, figures]) => [key, new Map(figures)]));
    for (const [key, hours] of this.#refused) {
      const [clientId = ''] = key.split(' ');
      for (const [hour, { count }] of hours)
        if (hour >= this.#hoursFrom && count > 0) addTo(all, keyOf(clientId, hour), { refused: count });
    }
    return [...all].map(([key, figures]) => {
      const [clientId = '', hour = ''] = key.split(' ');
      return { clientId, hour, figures: Object.fromEntries(figures) };
    });
  }

  /** The days as they are to be put back. */
  days(): CountedDay[] {
    const keys = new Set([...this.#recounted.keys(), ...this.#published.keys(), ...this.#refused.keys()]);
    return [...keys].map((key) => {
      const [clientId = '', date = ''] = key.split(' ');
      const isRecounted = date >= this.#recountedFrom;
      const published = this.#published.get(key)?.figures ?? {};
      const { refused: _, ...checks } = isRecounted
        ? Object.fromEntries(this.#recounted.get(key) ?? [])
        : published;
      const bytes = published[BYTES_FIGURE] ?? 0;
      const refused = [...(this.#refused.get(key)?.values() ?? [])].reduce(
        (sum, { count }) => sum + count,
        0,
      );
      return {
        clientId,
        date,
        figures: { ...checks, ...(refused > 0 && { refused }), ...(bytes > 0 && { [BYTES_FIGURE]: bytes }) },
      };
    });
  }
}

const keyOf = (clientId: string, date: string): string => `${clientId} ${date}`;

/** Adds figures to those of a key, with the bound that a stored day has. */
function addTo(keys: Map<string, Map<string, number>>, key: string, added: DayFigures): void {
  const figures = keys.get(key) ?? new Map<string, number>();
  keys.set(key, figures);
  for (const [given, count] of Object.entries(added)) {
    const isBeyond = given.startsWith(KEY_FIGURE) && figures.size >= DAY_FIGURES_MAX && !figures.has(given);
    const name = isBeyond ? OTHER_KEYS_FIGURE : given;
    figures.set(name, (figures.get(name) ?? 0) + count);
  }
}
