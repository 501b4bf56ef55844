import { type Usage, usage } from '#shared/contracts/usage/usage.ts';
import { describeError } from '#shared/errors.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { AppHour } from '#shared/stores/usage/usage.ts';
import type { Dependencies } from '../dependencies.ts';

/** How often the hour's totals are published: a replay counts the checks accepted since from the
 * lanes. */
const PUBLISH_INTERVAL_MS = 60_000;
/** Totals read and published at once: thousands at once would not be answered within a command's
 * time. */
const SLICE_COUNT = 100;
/** Apps by hour whose last published figures are remembered, so that unchanged figures are not
 * written again. */
const REMEMBERED_MAX = 100_000;

/** Called with each total that changed, after it is published. */
type AlertQuota = (usage: Usage) => Promise<void>;

/**
 * Publishes the totals that changed since they were published last, if no other process does so. A
 * total that cannot be read or published keeps none of the others back: the next run tries it
 * again.
 */
export function makePublishUsage(
  { usageFigures: figures, kafka, metrics, now, log }: Dependencies,
  alertQuota: AlertQuota,
): () => Promise<void> {
  const published = new Map<string, string>();
  const publishOne = async (appHour: AppHour): Promise<void> => {
    const current = await figures.read(appHour);
    const { asOf: _, ...totals } = current;
    const key = `${current.clientId}/${current.hour}`;
    const text = JSON.stringify(totals);
    if (published.get(key) === text) return;
    await kafka.publish(usage, current);
    // A failure counts as one of the total: the next run tries both again.
    await alertQuota(current);
    published.set(key, text);
  };
  return async function publishUsage() {
    if (!(await figures.lockPublishing(PUBLISH_INTERVAL_MS - 1_000))) return;
    if (published.size > REMEMBERED_MAX) published.clear();
    const beganMs = now();
    const appHours = await figures.listRecent(beganMs);
    const failures: unknown[] = [];
    for (let first = 0; first < appHours.length; first += SLICE_COUNT) {
      const slice = appHours.slice(first, first + SLICE_COUNT);
      for (const outcome of await Promise.allSettled(slice.map(publishOne)))
        if (outcome.status === 'rejected') failures.push(outcome.reason);
    }
    if (failures.length === 0) return metrics.noteComplete(beganMs);
    log.warn(
      { failedCount: failures.length, error: describeError(failures[0]) },
      'usage totals not published',
    );
  };
}

export const startPublishingUsage = (deps: Dependencies, alertQuota: AlertQuota): AsyncDisposable =>
  startRepeating(makePublishUsage(deps, alertQuota), {
    intervalMs: PUBLISH_INTERVAL_MS,
    startsAtOnce: true,
    onError: (error) => deps.log.warn({ error: describeError(error) }, 'usage totals not published'),
  });
