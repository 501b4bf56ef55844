import type { Consumer } from 'kafkajs';
import type { PartitionWindow } from './partition-window.ts';

/** Commits of each partition the contiguous prefix of finished records, where it has grown since the last commit. */
export async function commitPrefixes(
  source: Pick<Consumer, 'commitOffsets'>,
  windows: readonly PartitionWindow<unknown>[],
): Promise<void> {
  const moved = windows
    .map((window) => ({ window, offset: window.commitOffset }))
    .filter(({ window, offset }) => offset >= 0 && offset > window.committedOffset);
  if (moved.length === 0) return;
  const offsets = moved.map(({ window: { topic, partition }, offset }) => ({
    topic,
    partition,
    offset: String(offset),
  }));
  try {
    await source.commitOffsets(offsets);
    for (const { window, offset } of moved) window.committedOffset = offset;
  } catch {
    // A rebalance or no broker: the next tick commits, or the next owner works the records again.
  }
}
