import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import { countCheck, type DayFigures } from '#shared/contracts/day-figures.ts';
import type { Usage } from '#shared/contracts/usage.ts';
import { DAY_MS } from '../contracts/durations.ts';

/** Days that the results' topic still has whole: it keeps seven. */
const RECOUNTED_DAYS = 6;
/** Most ids remembered to count a check once whose result stands twice; beyond it a duplicate may count twice. */
const IDS_MAX = 2_000_000;

export type CountedDay = { readonly clientId: string; readonly date: string; readonly figures: DayFigures };

/**
 * Works the figures of the days out again from the topics: recent days from the results, each check once; older ones
 * from what was published of them last; refusals, of which nothing else is left, from the published hours.
 */
export class DayCount {
  readonly #recountedFrom: string;
  readonly #recounted = new Map<string, Map<string, number>>();
  readonly #published = new Map<string, { asOfMs: number; figures: DayFigures }>();
  readonly #refused = new Map<string, Map<string, { asOfMs: number; count: number }>>();
  readonly #counted = new Set<string>();

  constructor(nowMs: number) {
    this.#recountedFrom = new Date(nowMs - RECOUNTED_DAYS * DAY_MS).toISOString().slice(0, 10);
  }

  /** Takes what was published of an hour; a later record of the same hour replaces an earlier one. */
  addTotal({ clientId, hour, refused, day, asOf }: Usage): void {
    const place = placeOf(clientId, hour.slice(0, 10));
    const asOfMs = Date.parse(asOf);
    const hours = this.#refused.get(place) ?? new Map<string, { asOfMs: number; count: number }>();
    this.#refused.set(place, hours);
    if (asOfMs >= (hours.get(hour)?.asOfMs ?? 0)) hours.set(hour, { asOfMs, count: refused });
    if (day && asOfMs >= (this.#published.get(place)?.asOfMs ?? 0))
      this.#published.set(place, { asOfMs, figures: day });
  }

  /** Takes a result, in the order of its partition: the first one of a check counts. */
  addResult(message: CheckCompleted): void {
    if (message.acceptedAt.slice(0, 10) < this.#recountedFrom || this.#counted.has(message.requestId)) return;
    if (this.#counted.size < IDS_MAX) this.#counted.add(message.requestId);
    const counted = countCheck(message);
    if (!counted) return;
    const place = placeOf(message.clientId, counted.date);
    const figures = this.#recounted.get(place) ?? new Map<string, number>();
    this.#recounted.set(place, figures);
    for (const [name, count] of Object.entries(counted.figures))
      figures.set(name, (figures.get(name) ?? 0) + count);
  }

  /** The days as they are to be put back. */
  days(): CountedDay[] {
    const places = new Set([...this.#recounted.keys(), ...this.#published.keys(), ...this.#refused.keys()]);
    return [...places].map((place) => {
      const [clientId = '', date = ''] = place.split(' ');
      const isRecounted = date >= this.#recountedFrom;
      const { refused: _, ...checks } = isRecounted
        ? Object.fromEntries(this.#recounted.get(place) ?? [])
        : (this.#published.get(place)?.figures ?? {});
      const refused = [...(this.#refused.get(place)?.values() ?? [])].reduce(
        (sum, { count }) => sum + count,
        0,
      );
      return { clientId, date, figures: { ...checks, ...(refused > 0 && { refused }) } };
    });
  }
}

const placeOf = (clientId: string, date: string): string => `${clientId} ${date}`;
