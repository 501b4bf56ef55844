import { EventCause } from '#shared/contracts/watches/watch.ts';
import { CheckCause } from '#shared/contracts/watches/watch-check.ts';
import { makeInstruments, type Registry } from '#shared/telemetry/metrics.ts';

export function makeMetrics(registry: Registry) {
  const { counter, gauge } = makeInstruments(registry);
  const checks = counter('rolecall_watch_looks_total', 'Checks of members of watches.', {
    cause: CheckCause.options,
  });
  const events = counter('rolecall_watch_events_total', 'Events about changed roles.', {
    cause: EventCause.options,
  });
  const members = gauge('rolecall_watch_members', 'Members of the watches whose sweeps this process starts.');
  const overdue = gauge(
    'rolecall_watch_overdue_seconds',
    'How long the longest waiting check or sweep has been due, running sweeps of all processes included; 0 without one.',
  );
  const watches = gauge('rolecall_watches', 'Watches whose sweeps this process starts.');
  const held = gauge(
    'rolecall_watches_held',
    'Watches with held revocations, of those whose sweeps this process starts.',
  );
  return {
    countChecks: (cause: CheckCause, count: number) => checks.inc({ cause }, count),
    countEvent: (cause: EventCause) => events.inc({ cause }),
    setWatches: (figures: { readonly watches: number; readonly members: number; readonly held: number }) => {
      watches.set(figures.watches);
      members.set(figures.members);
      held.set(figures.held);
    },
    setOverdue: (seconds: number) => overdue.set(seconds),
  };
}
