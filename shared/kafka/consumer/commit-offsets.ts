import type { Consumer } from 'kafkajs';
import { type Repetition, startRepeating } from '#shared/repeat.ts';
import { within } from '#shared/wait-for.ts';
import { PartitionWindow } from './partition-window.ts';

const COMMIT_INTERVAL_MS = 200;
/** How long a member that was outside of its group waits for the committed offsets before it
 * continues without them. */
const READ_COMMITTED_MS_MAX = 5_000;

/** By `topic/partition`. */
type Windows<M> = ReadonlyMap<string, PartitionWindow<M>>;

/**
 * The windows of a new assignment. A partition that stays with its member keeps its window.
 *
 * Every prefix is committed again: a commit that was sent while the member was outside may have
 * been dropped. But a member that was outside commits nothing until `adoptCommitted` has run: other
 * members may have committed further.
 *
 * @param wasOutside whether other members may have owned the partitions since the last assignment
 */
export function assignWindows<M>(
  assignment: Readonly<Record<string, readonly number[]>>,
  known: Windows<M>,
  wasOutside: boolean,
): Map<string, PartitionWindow<M>> {
  const windows = new Map<string, PartitionWindow<M>>();
  for (const [topic, partitions] of Object.entries(assignment)) {
    for (const partition of partitions) {
      const name = `${topic}/${partition}`;
      const window = known.get(name) ?? new PartitionWindow<M>(topic, partition);
      window.committedOffset = wasOutside ? undefined : -1;
      windows.set(name, window);
    }
  }
  return windows;
}

/** The committed offsets, or none if the broker does not answer in time: records are then repeated,
 * never lost. */
export const readCommittedWithin = async (
  readCommitted: () => Promise<ReadonlyMap<string, number>>,
): Promise<ReadonlyMap<string, number>> =>
  (await within(
    READ_COMMITTED_MS_MAX,
    readCommitted().catch(() => undefined),
  )) ?? new Map();

/** Moves the windows to the group's committed offsets: no record is processed again, no lower
 * offset committed. */
export function adoptCommitted<M>(windows: Windows<M>, committed: ReadonlyMap<string, number>): void {
  for (const [name, window] of windows) {
    const offset = committed.get(name) ?? -1;
    window.skipTo(offset);
    window.committedOffset = offset;
  }
}

/** Called with the offsets to come before each commit; where it throws, nothing is committed. */
export type BeforeCommit = (
  offsets: readonly { readonly topic: string; readonly partition: number; readonly offset: number }[],
) => Promise<void>;

export type Committer = ReturnType<typeof makeCommitter>;

/** Commits the contiguous finished prefix of each partition whenever it has grown since the last
 * commit. */
export function makeCommitter(
  source: Pick<Consumer, 'commitOffsets'>,
  windows: () => readonly PartitionWindow<unknown>[],
  beforeCommit: BeforeCommit = async () => undefined,
) {
  let committingPeriodically: Repetition | undefined;
  let committing: Promise<void> | undefined;
  const commit = (): Promise<void> => {
    committing ??= commitPrefixes(source, windows(), beforeCommit).finally(() => {
      committing = undefined;
    });
    return committing;
  };
  return {
    /** Commits every 200 ms. */
    start(): void {
      committingPeriodically = startRepeating(commit, { intervalMs: COMMIT_INTERVAL_MS });
    },
    stop(): void {
      committingPeriodically?.stop();
    },
    async commitAll(): Promise<void> {
      // The commit in flight may lack records that finished since it began.
      await committing;
      await commit();
    },
  };
}

async function commitPrefixes(
  source: Pick<Consumer, 'commitOffsets'>,
  windows: readonly PartitionWindow<unknown>[],
  beforeCommit: BeforeCommit,
): Promise<void> {
  const grown = windows
    .filter((window) => window.hasNewCommit)
    .map((window) => ({
      window,
      topic: window.topic,
      partition: window.partition,
      offset: window.commitOffset,
    }));
  if (grown.length === 0) return;
  try {
    await beforeCommit(grown);
    await source.commitOffsets(
      grown.map(({ topic, partition, offset }) => ({ topic, partition, offset: String(offset) })),
    );
    for (const { window, offset } of grown) window.committedOffset = offset;
  } catch {
    // A rebalance, or no broker: the next tick commits, or the next owner processes the records
    // again.
  }
}
