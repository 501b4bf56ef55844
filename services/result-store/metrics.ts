import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { makeInstruments, type Registry } from '#shared/telemetry/metrics.ts';

export function makeMetrics(registry: Registry) {
  const { counter, gauge, watched } = makeInstruments(registry);
  const entries = counter('rolecall_batch_entries_total', 'Entries of batches whose results were stored.', {
    outcome: ['completed', 'failed'],
  });
  const usageComplete = gauge(
    'rolecall_usage_complete_timestamp_seconds',
    'When this process last published every total that had changed; its start before that.',
  );
  usageComplete.setToCurrentTime();
  return {
    countEntries({ lineCount, failedCount }: BatchPartCompleted): void {
      entries.inc({ outcome: 'completed' }, lineCount - failedCount);
      entries.inc({ outcome: 'failed' }, failedCount);
    },
    /** All totals are published as they were at `atMs`. */
    noteComplete: (atMs: number): void => usageComplete.set(atMs / 1000),
    watchViews: watched(
      'rolecall_views_whole',
      '1 while the Redis views are complete, 0 while they are rebuilt.',
    ),
  };
}

export type Metrics = ReturnType<typeof makeMetrics>;
