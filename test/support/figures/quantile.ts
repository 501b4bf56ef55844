/**
 * The value below which a share of the samples lies; NaN without samples.
 *
 * @example
 * quantile([3, 1, 2], 0.5); // 2
 */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const p99 = (samples: readonly number[]): number => quantile(samples, 0.99);
