import type { Consumer } from 'kafkajs';
import type { PartitionWindow } from './partition-window.ts';

const COMMIT_INTERVAL_MS = 200;

export type Committer = {
  /** Commits five times a second. */
  readonly start: () => void;
  readonly stop: () => void;
  /** Commits all that is finished by now. */
  readonly commitAll: () => Promise<void>;
};

/** Commits of each partition the contiguous prefix of finished records, where it has grown since the last commit. */
export function makeCommitter(
  source: Pick<Consumer, 'commitOffsets'>,
  windows: () => readonly PartitionWindow<unknown>[],
): Committer {
  let timer: NodeJS.Timeout | undefined;
  let committing: Promise<void> | undefined;
  const commit = (): Promise<void> => {
    committing ??= commitPrefixes(source, windows()).finally(() => {
      committing = undefined;
    });
    return committing;
  };
  return {
    start() {
      timer = setInterval(() => void commit(), COMMIT_INTERVAL_MS);
    },
    stop() {
      clearInterval(timer);
    },
    async commitAll() {
      // One that is on its way is of before.
      await committing;
      await commit();
    },
  };
}

async function commitPrefixes(
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
