/** Where a partition stood at one look. */
export type PartitionLook = {
  readonly partition: number;
  /** The offset of the next record to be written. */
  readonly end: number;
  /** The offset of the first record that is not finished. */
  readonly committed: number;
};

export type LagHistory = {
  /** Takes a look at all partitions of a topic. */
  readonly observe: (atMs: number, looks: readonly PartitionLook[]) => void;
  /** Age of the oldest record that is not finished, as far as this history reaches; 0 without lag. */
  readonly oldestAgeMs: (nowMs: number) => number;
};

/** Looks kept of a partition; when there are more, every second one goes, so that a long backlog is seen coarsely. */
const LOOKS_MAX = 512;

type Mark = readonly [atMs: number, end: number];

/**
 * Tells the age of a topic's oldest unfinished record without reading it: the record at the committed offset was
 * written before the first look at which the end lay beyond it. So the age is there when every consumer is dead.
 * It is too small by at most the time between two looks.
 *
 * @example
 * const history = makeLagHistory();
 * history.observe(1_000, [{ partition: 0, end: 5, committed: 3 }]);
 * history.oldestAgeMs(4_000); // 3000
 */
export function makeLagHistory(): LagHistory {
  const marks = new Map<number, Mark[]>();
  return {
    observe(atMs, looks) {
      for (const { partition, end, committed } of looks) {
        const open = (marks.get(partition) ?? []).filter(([, known]) => known > committed);
        if (end > (open.at(-1)?.[1] ?? committed)) open.push([atMs, end]);
        marks.set(partition, open.length > LOOKS_MAX ? open.filter((_, index) => index % 2 === 0) : open);
      }
    },
    oldestAgeMs(nowMs) {
      const firsts = [...marks.values()].flatMap(([first]) => (first ? [first[0]] : []));
      return firsts.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...firsts));
    },
  };
}
