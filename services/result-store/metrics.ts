import { Gauge } from 'prom-client';
import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import type { ViewKeeper } from '#shared/stores/replay/keep-views.ts';
import { makeInstruments, type Registry } from '#shared/telemetry/metrics.ts';

const TOTAL_OUTCOMES = ['published', 'unchanged', 'failed'] as const;

/** All metrics of a result-store process. */
export function makeMetrics(registry: Registry) {
  const { counter, gauge } = makeInstruments(registry);
  const entries = counter('rolecall_batch_entries_total', 'Entries of batches whose results were stored.', [
    'outcome',
  ]);
  const usageTotals = counter(
    'rolecall_usage_totals_total',
    'Hourly totals of client apps: published, unchanged since they were published last, or failed.',
    ['outcome'],
  );
  const usageComplete = gauge(
    'rolecall_usage_complete_timestamp_seconds',
    'When this process last published every total that had changed; its start before that.',
  );
  usageComplete.setToCurrentTime();
  for (const outcome of TOTAL_OUTCOMES) usageTotals.inc({ outcome }, 0);
  // From the first scrape on: a rate over a series that appears with its first event does not see
  // that event.
  for (const outcome of ['completed', 'failed']) entries.inc({ outcome }, 0);
  return {
    countEntries({ lineCount, failedCount }: BatchPartCompleted): void {
      entries.inc({ outcome: 'completed' }, lineCount - failedCount);
      entries.inc({ outcome: 'failed' }, failedCount);
    },
    /** The same in every result-store: take the maximum. */
    watchBatches(countUnfinished: () => Promise<number>): void {
      new Gauge({
        name: 'rolecall_batches_in_progress',
        help: 'Accepted batches whose last entry is not finished; every process shows all of them.',
        registers: [registry],
        async collect() {
          // While Redis is away the last figure stays.
          const count = await countUnfinished().catch(() => undefined);
          if (count !== undefined) this.set(count);
        },
      });
    },
    countTotal: (outcome: (typeof TOTAL_OUTCOMES)[number]): void => usageTotals.inc({ outcome }),
    /** All totals are published as they were at `atMs`. */
    noteComplete: (atMs: number): void => usageComplete.set(atMs / 1000),
    watchViews(views: Pick<ViewKeeper, 'areComplete'>): void {
      new Gauge({
        name: 'rolecall_views_whole',
        help: '1 while the Redis views are complete, 0 while they are rebuilt.',
        registers: [registry],
        collect() {
          this.set(views.areComplete() ? 1 : 0);
        },
      });
    },
  };
}

export type Metrics = ReturnType<typeof makeMetrics>;
