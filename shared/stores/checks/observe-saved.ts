import { makeInstruments, type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';
import type { ObserveSaved } from './results.ts';

/** The metrics of a process that saves results of checks: the process that saved a result first
 * observes its time. */
export function makeObserveSaved(registry: Registry, redisNowMs: () => number): ObserveSaved {
  const { counter, histogram } = makeInstruments(registry);
  const checkSeconds = histogram(
    'rolecall_check_seconds',
    'From acceptance to the stored result, observed by the process that stored it.',
    SECONDS_BUCKETS,
    { mode: ['sync', 'poll', 'webhook'] },
  );
  const resultsSaved = counter(
    'rolecall_results_saved_total',
    'Results of checks to be stored, by kind: the first of its check, or a copy.',
    { kind: ['first', 'copy'] },
  );
  return ({ mode, acceptedAtMs }, isFirst) => {
    resultsSaved.inc({ kind: isFirst ? 'first' : 'copy' });
    if (isFirst) checkSeconds.observe({ mode }, (redisNowMs() - acceptedAtMs) / 1000);
  };
}
