import { quantile } from '../support/figures/quantile.ts';

/** A span, reduced to the fields of a time budget. Instants in ms. */
export type Timed = {
  readonly name: string;
  readonly service: string;
  readonly startMs: number;
  readonly endMs: number;
};

export type Hop = {
  readonly name: string;
  readonly service: string;
  /** Medians, in ms after the request arrived. */
  readonly beginsMs: number;
  readonly lastsMs: number;
  readonly lastsP99Ms: number;
};

/** The time budget of a check: the median start and length of each of its spans, over many traces. */
export function hopsOf(traces: readonly (readonly Timed[])[], rootName: string): Hop[] {
  const samples = new Map<string, { name: string; service: string; begins: number[]; lasts: number[] }>();
  for (const spans of traces) {
    const root = spans.find(({ name }) => name === rootName);
    if (!root) continue;
    for (const { name, service, startMs, endMs } of spans) {
      const key = `${service} ${name}`;
      const hop = samples.get(key) ?? { name, service, begins: [], lasts: [] };
      hop.begins.push(startMs - root.startMs);
      hop.lasts.push(endMs - startMs);
      samples.set(key, hop);
    }
  }
  return [...samples.values()]
    .map(({ name, service, begins, lasts }) => ({
      name,
      service,
      beginsMs: quantile(begins, 0.5),
      lastsMs: quantile(lasts, 0.5),
      lastsP99Ms: quantile(lasts, 0.99),
    }))
    .sort((a, b) => a.beginsMs - b.beginsMs);
}
