import { within } from '#shared/wait-for.ts';
import { PartitionWindow } from './partition-window.ts';

const CATCH_UP_MS_MAX = 5_000;

type Windows<M> = ReadonlyMap<string, PartitionWindow<M>>;

/**
 * The windows of a member's new assignment, by `topic/partition`: those that it keeps know what they knew.
 *
 * All are committed anew: a commit that was sent while the member was out of the group may have been dropped. But a member
 * that was thrown out commits nothing before it has caught up: others may have come further meanwhile.
 *
 * @param wasOut whether others may have owned the partitions since the last assignment
 */
export function assignWindows<M>(
  assignment: Readonly<Record<string, readonly number[]>>,
  known: Windows<M>,
  wasOut: boolean,
): Map<string, PartitionWindow<M>> {
  const windows = new Map<string, PartitionWindow<M>>();
  for (const [topic, partitions] of Object.entries(assignment)) {
    for (const partition of partitions) {
      const place = `${topic}/${partition}`;
      const window = known.get(place) ?? new PartitionWindow<M>(topic, partition);
      window.committedOffset = wasOut ? Number.POSITIVE_INFINITY : -1;
      windows.set(place, window);
    }
  }
  return windows;
}

/**
 * What the group has committed by now is neither done again nor committed back. Where the broker does not tell, the member
 * goes on all the same: work is repeated then, and never lost.
 */
export async function catchUp<M>(
  windows: Windows<M>,
  readCommitted: () => Promise<ReadonlyMap<string, number>>,
): Promise<void> {
  let committed: ReadonlyMap<string, number> = new Map();
  const reading = readCommitted().then((found) => {
    committed = found;
  });
  await within(
    CATCH_UP_MS_MAX,
    reading.catch(() => undefined),
  );
  for (const [place, window] of windows) {
    const offset = committed.get(place) ?? -1;
    window.passTo(offset);
    window.committedOffset = offset;
  }
}
