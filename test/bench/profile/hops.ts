import { setTimeout as delay } from 'node:timers/promises';
import { type ReceivedSpan, receiveSpans } from '../../support/fakes/receive-spans.ts';
import { quantile } from '../../support/figures/quantile.ts';
import { startBenchSystem } from '../system/bench-system.ts';
import { makeWorkload } from '../system/workload.ts';
import type { Table } from '../table.ts';

const ROOT_SPAN = 'POST checkRoles';
const WARM_UP_COUNT = 150;
const COUNT = 300;
const EXPORT_INTERVAL_MS = 100;
/** Long enough that the last spans have arrived. */
const TRAIL_MS = 1_500;
const NS_PER_MS = 1e6;

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

/** The time budget of a check: the median start and length of each of its spans, over many
 * traces. */
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

/** Follows sync checks over an idle system by their traces: the time budget of one check. */
export async function benchHops(): Promise<Table> {
  await using collector = await receiveSpans();
  await using bench = await startBenchSystem({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: String(EXPORT_INTERVAL_MS),
    },
  });
  const { chain, client } = bench.system;
  const workload = await makeWorkload(chain, 3);
  for (let i = 0; i < WARM_UP_COUNT + COUNT; i++) {
    const { status, text } = await client.check(workload.checkAt(i));
    if (status !== 200) throw new Error(`a sync check was answered with ${status}`);
    workload.verify(i, text);
  }
  await delay(TRAIL_MS);
  const traces = Map.groupBy(collector.spans, ({ traceId }) => traceId);
  const whole = [...traces.values()].filter((spans) => spans.some(({ name }) => name === ROOT_SPAN));
  if (whole.length < COUNT) throw new Error(`${whole.length} traces of ${COUNT} checks`);
  const hops = hopsOf(
    whole.slice(-COUNT).map((spans) => spans.map(timedOf)),
    ROOT_SPAN,
  );
  return {
    title: 'hops: the spans of a sync check over an idle system, in order of their start',
    rows: hops.map(({ service, name, beginsMs, lastsMs, lastsP99Ms }) => ({
      what: `${service}: ${name}, begins after ${beginsMs.toFixed(2)} ms, p99 ${lastsP99Ms.toFixed(2)} ms`,
      measured: lastsMs,
      unit: 'ms',
    })),
  };
}

const timedOf = ({ name, service, startTimeUnixNano, endTimeUnixNano }: ReceivedSpan): Timed => ({
  name,
  service: service.replace('rolecall-', ''),
  startMs: Number(startTimeUnixNano) / NS_PER_MS,
  endMs: Number(endTimeUnixNano) / NS_PER_MS,
});
