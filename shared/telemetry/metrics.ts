import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type { Registry };

/** From 1 ms to 60 s: fine where an answer is expected, coarse where it is late. */
export const SECONDS_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** How often the delay of the event loop is sampled, which each figure of it includes. Each sample
 * wakes an idle process: every 10 ms cost 0.3 % of a core. */
export const EVENT_LOOP_SAMPLING_MS = 50;

/** The registry of a process, with Node's own figures in it and the service's name on every
 * series. */
export function makeRegistry(service: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLING_MS });
  showMemoryLimits(registry);
  return registry;
}

/**
 * The names of the labels, or the names with the values whose series exist from the first scrape
 * on: `rate` does not count the event with which a series appears.
 */
type Labels<Label extends string> = readonly Label[] | Readonly<Record<Label, readonly string[]>>;

/**
 * Makes the metrics of one registry.
 *
 * @example
 * const { counter } = makeInstruments(registry);
 * const outcomes = counter('rolecall_verdicts_total', 'Rules judged.', { outcome: ['granted', 'denied'] });
 * outcomes.inc({ outcome: 'granted' });
 */
export function makeInstruments(registry: Registry) {
  const registers = [registry];
  return {
    counter<const Label extends string = never>(name: string, help: string, labels: Labels<Label> = []) {
      const counter = new Counter<Label>({ name, help, labelNames: namesOf(labels), registers });
      for (const series of seriesOf(labels)) counter.inc(series, 0);
      return counter;
    },
    gauge<const Label extends string = never>(name: string, help: string, labels: Labels<Label> = []) {
      const gauge = new Gauge<Label>({ name, help, labelNames: namesOf(labels), registers });
      for (const series of seriesOf(labels)) gauge.set(series, 0);
      return gauge;
    },
    histogram<const Label extends string = never>(
      name: string,
      help: string,
      buckets: readonly number[],
      labels: Labels<Label> = [],
    ) {
      const labelNames = namesOf(labels);
      const histogram = new Histogram<Label>({ name, help, buckets: [...buckets], labelNames, registers });
      for (const series of seriesOf(labels)) histogram.zero(series);
      return histogram;
    },
    /** A gauge whose figures are read when it is collected, from the source that is passed to the
     * result; while the source fails or has none, the last figures stay. */
    watched: <const Label extends string = never>(
      name: string,
      help: string,
      labelNames: readonly Label[] = [],
    ) => {
      let read: () => Figures<Label> | Promise<Figures<Label>> = () => undefined;
      const gauge: Gauge<Label> = new Gauge<Label>({
        name,
        help,
        labelNames,
        registers,
        async collect(): Promise<void> {
          const figures = await Promise.try(read).catch(() => undefined);
          if (typeof figures === 'number') gauge.set(figures);
          if (typeof figures !== 'object') return;
          gauge.reset();
          for (const [labels, figure] of figures) gauge.set(labels, figure);
        },
      });
      return (source: typeof read): void => {
        read = source;
      };
    },
  };
}

const namesOf = <Label extends string>(labels: Labels<Label>): readonly Label[] =>
  isList(labels) ? labels : (Object.keys(labels) as Label[]);

/** Each combination of the values. */
const seriesOf = <Label extends string>(labels: Labels<Label>): Record<Label, string>[] =>
  isList(labels)
    ? []
    : Object.entries<readonly string[]>(labels).reduce(
        (series, [name, values]) =>
          series.flatMap((each) => values.map((value) => ({ ...each, [name]: value }))),
        [{} as Record<Label, string>],
      );

const isList = <Label extends string>(labels: Labels<Label>): labels is readonly Label[] =>
  Array.isArray(labels);

/** One figure, or one for each of several series. */
type Figures<Label extends string> =
  | number
  | undefined
  | readonly (readonly [labels: Record<Label, string>, figure: number])[];

/** What the process's memory is compared with: beyond the first the container is killed, beyond the
 * second Node ends. */
function showMemoryLimits(registry: Registry): void {
  const { gauge } = makeInstruments(registry);
  gauge(
    'rolecall_memory_limit_bytes',
    'Memory that the process may have: the limit of its container, or the memory of the machine.',
    // Without a limit it is 0, or more than any machine has.
  ).set(Math.min(process.constrainedMemory() || Infinity, totalmem()));
  gauge('rolecall_heap_limit_bytes', 'The largest heap that Node allows itself.').set(
    getHeapStatistics().heap_size_limit,
  );
}

/** The outcome of each check of `/readyz`, one series per check, so that a dashboard shows the
 * missing dependency. */
export function watchReadiness(registry: Registry, readiness: { judge: () => ReadyJudgement }): void {
  const { watched } = makeInstruments(registry);
  watched('rolecall_ready', '1 if the readiness check passes, otherwise 0.', ['check'])(() =>
    Object.entries(readiness.judge().checks).map(([check, answer]) => [{ check }, answer === true ? 1 : 0]),
  );
}

type ReadyJudgement = { readonly checks: Readonly<Record<string, true | string>> };

/** Shows how far this process's clock is ahead of Redis's, the one clock of all times that cross
 * processes. */
export function watchClock(registry: Registry, { skewMs }: { readonly skewMs: () => number }): void {
  const { watched } = makeInstruments(registry);
  watched(
    'rolecall_clock_skew_seconds',
    "How far this process's clock is ahead of Redis's.",
  )(() => skewMs() / 1_000);
}

/** What Redis uses, and may use; a bound of 0 is none. */
export type RedisMemory = { readonly usedBytes: number; readonly maxBytes: number };

export function watchRedisMemory(registry: Registry, read: () => RedisMemory): void {
  const { watched } = makeInstruments(registry);
  watched('rolecall_redis_used_bytes', 'Memory that Redis uses.')(() => read().usedBytes);
  watched('rolecall_redis_max_bytes', 'Memory that Redis may use; 0 without a bound.')(() => read().maxBytes);
}
