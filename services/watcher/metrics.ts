import { Counter, Gauge } from 'prom-client';
import { CheckCause, EventCause } from '#shared/contracts/watches/watch.ts';
import type { Registry } from '#shared/telemetry/metrics.ts';

export type WatcherMetrics = ReturnType<typeof makeMetrics>;

/** All metrics of a watcher process. */
export function makeMetrics(registry: Registry) {
  const registers = [registry];
  const checks = new Counter({
    name: 'rolecall_watch_looks_total',
    help: 'Checks of members of watches.',
    labelNames: ['cause'],
    registers,
  });
  const events = new Counter({
    name: 'rolecall_watch_events_total',
    help: 'Events about changed roles.',
    labelNames: ['cause'],
    registers,
  });
  const members = new Gauge({
    name: 'rolecall_watch_members',
    help: 'Members of the watches whose sweeps this process starts.',
    registers,
  });
  const overdue = new Gauge({
    name: 'rolecall_watch_overdue_seconds',
    help: 'How long the longest waiting check or sweep has been due, running sweeps of all processes included; 0 without one.',
    registers,
  });
  const held = new Gauge({
    name: 'rolecall_watches_held',
    help: 'Watches with held revocations, of those whose sweeps this process starts.',
    registers,
  });
  for (const cause of CheckCause.options) checks.inc({ cause }, 0);
  for (const cause of EventCause.options) events.inc({ cause }, 0);
  return {
    countChecks: (cause: CheckCause, count: number) => checks.inc({ cause }, count),
    countEvent: (cause: EventCause) => events.inc({ cause }),
    setWatches: (figures: { readonly members: number; readonly held: number }) => {
      members.set(figures.members);
      held.set(figures.held);
    },
    setOverdue: (seconds: number) => overdue.set(seconds),
  };
}
