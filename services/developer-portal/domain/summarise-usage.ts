import {
  BUCKET_ENDS_MS,
  BYTES_FIGURE,
  type DayFigures,
  KEY_FIGURE,
} from '#shared/contracts/usage/day-figures.ts';

/**
 * Summarises the counters of a day or an hour by mode, status and percentile. Each entry of a batch
 * is a check; the percentiles are those of single checks.
 *
 * @example
 * summariseDay({ 'sync.completed.3': 2, granted: 5 }).sync; // 2
 */
export function summariseDay(figures: DayFigures) {
  const plain = (name: string): number => figures[name] ?? 0;
  const batch = { completed: plain('batch.completed'), failed: plain('batch.failed') };
  const sums = { sync: 0, poll: 0, webhook: 0, ...batch };
  const buckets = new Array<number>(BUCKET_ENDS_MS.length + 1).fill(0);
  for (const [name, count] of Object.entries(figures)) {
    const [mode, status, bucket] = name.split('.') as [keyof typeof sums, keyof typeof sums, string?];
    if (bucket === undefined) continue;
    sums[mode] += count;
    sums[status] += count;
    buckets[Number(bucket)] = (buckets[Number(bucket)] ?? 0) + count;
  }
  return {
    ...sums,
    batch: batch.completed + batch.failed,
    granted: plain('granted'),
    denied: plain('denied'),
    undetermined: plain('undetermined'),
    undeterminedClient: plain('undetermined.client'),
    undeterminedService: plain('undetermined.service'),
    refused: plain('refused'),
    bytes: plain(BYTES_FIGURE),
    p50Ms: percentileOf(buckets, 0.5),
    p95Ms: percentileOf(buckets, 0.95),
  };
}

/** The checks by API key, the most used first; `other` stands for the keys beyond a day's bound. */
export const checksByKey = (figures: DayFigures): { keyId: string; checks: number }[] =>
  Object.entries(figures)
    .filter(([name]) => name.startsWith(KEY_FIGURE))
    .map(([name, checks]) => ({ keyId: name.slice(KEY_FIGURE.length), checks }))
    .sort((a, b) => b.checks - a.checks || (a.keyId < b.keyId ? -1 : 1));

export function addFigures(days: readonly DayFigures[]): DayFigures {
  const total = new Map<string, number>();
  for (const day of days)
    for (const [name, count] of Object.entries(day)) total.set(name, (total.get(name) ?? 0) + count);
  return Object.fromEntries(total);
}

/** The share of rules that are undetermined, from 0 to 1. */
export const undeterminedShareOf = ({
  granted,
  denied,
  undetermined,
}: ReturnType<typeof summariseDay>): number =>
  undetermined === 0 ? 0 : undetermined / (granted + denied + undetermined);

/** Interpolates linearly within a bucket; a percentile in the last bucket is the last bucket's
 * start. */
function percentileOf(buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (const [index, count] of buckets.entries()) {
    if (count > 0 && below + count >= share * total) {
      const from = BUCKET_ENDS_MS[index - 1] ?? 0;
      const to = BUCKET_ENDS_MS[index] ?? from;
      return Math.round((from + (to - from) * ((share * total - below) / count)) * 10) / 10;
    }
    below += count;
  }
  return null;
}
