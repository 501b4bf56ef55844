/** A partition's positions in one sample. */
export type PartitionPosition = {
  readonly partition: number;
  /** The offset of the next record to be written. */
  readonly end: number;
  /** The offset of the first unfinished record. */
  readonly committed: number;
};

export type LagHistory = {
  /** Adds a sample of all partitions of a topic. */
  readonly observe: (atMs: number, positions: readonly PartitionPosition[]) => void;
  /** Age of the oldest unfinished record, as far as this history reaches; 0 without lag. */
  readonly oldestAgeMs: (nowMs: number) => number;
};

/** Samples kept per partition. Above it every second one is dropped, so a long backlog is known less finely. */
const SAMPLES_MAX = 512;

type Sample = readonly [atMs: number, end: number];

/**
 * Estimates the age of a topic's oldest unfinished record without reading it: the record at the committed offset was
 * written before the first sample whose end lay beyond it. So the age is known when every consumer is dead. It is too
 * small by at most the sampling interval.
 *
 * @example
 * const history = makeLagHistory();
 * history.observe(1_000, [{ partition: 0, end: 5, committed: 3 }]);
 * history.oldestAgeMs(4_000); // 3000
 */
export function makeLagHistory(): LagHistory {
  const samples = new Map<number, Sample[]>();
  return {
    observe(atMs, positions) {
      for (const { partition, end, committed } of positions) {
        const open = (samples.get(partition) ?? []).filter(([, known]) => known > committed);
        if (end > (open.at(-1)?.[1] ?? committed)) open.push([atMs, end]);
        samples.set(partition, open.length > SAMPLES_MAX ? open.filter((_, index) => index % 2 === 0) : open);
      }
    },
    oldestAgeMs(nowMs) {
      const firsts = [...samples.values()].flatMap(([first]) => (first ? [first[0]] : []));
      return firsts.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...firsts));
    },
  };
}
