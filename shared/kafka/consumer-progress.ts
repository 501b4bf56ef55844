import type { PartitionWindow, WindowRecord } from './partition-window.ts';

/** How far a consumer has come. */
export type ConsumerProgress = {
  readonly isJoined: boolean;
  /** The longest time for which a record in work has shown no sign of life; 0 without one. */
  readonly silentWorkMs: number;
  /** Of the partitions that are being fetched: the offset behind the last fetched record, -1 before the first. */
  readonly fetching: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly fetchedOffset: number;
  }[];
};

export function progressOf(
  isJoined: boolean,
  working: Iterable<WindowRecord<unknown>>,
  windows: readonly PartitionWindow<unknown>[],
): ConsumerProgress {
  let silentWorkMs = 0;
  const nowMs = performance.now();
  for (const { aliveAtMs = nowMs } of working) silentWorkMs = Math.max(silentWorkMs, nowMs - aliveAtMs);
  // Outside of the group whatever it may still fetch is not worked: only commits tell there.
  const fetching = isJoined ? windows.filter(({ paused }) => !paused) : [];
  return { isJoined, silentWorkMs, fetching };
}
