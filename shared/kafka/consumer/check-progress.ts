import type { Admin } from 'kafkajs';
import { describeError } from '#shared/errors.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { positionsOf } from '../lag.ts';
import { byPartition } from '../topic-offsets.ts';
import type { PartitionWindow } from './partition-window.ts';

/** The interval between two polls of the broker is a quarter of the bound, within these. */
const POLL_MS_MIN = 250;
const POLL_MS_MAX = 15_000;

export type ConsumerProgress = {
  /** Whether it is a member of its group and starts records. */
  readonly isConsuming: boolean;
  /** The longest time since a record in progress started or last reported to be alive; 0 without
   * one. */
  readonly silentMs: number;
  readonly fetching: readonly Pick<PartitionWindow<unknown>, 'topic' | 'partition' | 'fetchedOffset'>[];
};

type Dependencies = {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly progress: () => ConsumerProgress;
  readonly admin: Pick<Admin, 'fetchTopicOffsets' | 'fetchOffsets'>;
  /** How long a consumer may stall with records waiting before `/livez` fails. */
  readonly stallMsMax: number;
  readonly log: Logger;
};

type Stall = { readonly offset: number; readonly sinceMs: number };

/**
 * Detects a consumer that is alive and consumes nothing. Two signs:
 *
 * | sign | why it is not a dependency that is away |
 * | --- | --- |
 * | a record in progress reports nothing | a record that is held for a store or a broker reports on every retry |
 * | a partition has records behind the last fetched one (outside of the group: behind the last commit), and the position does not move | the broker and the group's coordinator have just answered |
 *
 * Each counts after `stallMsMax`. A restart fixes both. It does not fix a broker, so a broker that
 * does not answer is no stall.
 */
export function startProgressCheck(deps: Dependencies) {
  const { stallMsMax, progress } = deps;
  let stalls = new Map<string, Stall>();
  const poll = async () => {
    const found = await readPositionsBehind(deps);
    const nowMs = performance.now();
    stalls = new Map(
      [...found].map(([name, offset]) => {
        const known = stalls.get(name);
        return [name, known?.offset === offset ? known : { offset, sinceMs: nowMs }];
      }),
    );
  };
  const intervalMs = Math.min(Math.max(stallMsMax / 4, POLL_MS_MIN), POLL_MS_MAX);
  const polling = startRepeating(poll, {
    intervalMs,
    onError: (error) => {
      stalls.clear();
      deps.log.debug({ error: describeError(error) }, 'the progress of a consumer could not be read');
    },
  });
  return {
    /** True while the consumer moves, has nothing to do, or waits for a dependency that is away;
     * otherwise the fault. */
    isWell(): true | string {
      if (progress().silentMs > stallMsMax)
        return `a record has been in progress for more than ${stallMsMax} ms`;
      const oldest = Math.min(...[...stalls.values()].map(({ sinceMs }) => sinceMs));
      return (
        performance.now() - oldest <= stallMsMax ||
        `records are waiting and none was fetched for ${stallMsMax} ms`
      );
    },
    [Symbol.asyncDispose]: () => polling[Symbol.asyncDispose](),
  };
}

/** The position of each partition with records that this consumer should have fetched by now. */
async function readPositionsBehind({ groupId, topics, progress, admin }: Dependencies) {
  const found = new Map<string, number>();
  // Always asked: an answer proves that the group's coordinator is there.
  const committed = await admin.fetchOffsets({ groupId, topics: [...topics] });
  for (const { topic, partitions } of committed) {
    const ends = byPartition(await admin.fetchTopicOffsets(topic));
    const { isConsuming, fetching } = progress();
    const own = new Map(
      fetching.flatMap((at) => (at.topic === topic ? [[at.partition, at.fetchedOffset]] : [])),
    );
    for (const { partition, end, committed: ofGroup } of positionsOf(ends, partitions)) {
      if (isConsuming && !own.has(partition)) continue;
      const reached = Math.max(own.get(partition) ?? -1, ofGroup);
      if (end > reached) found.set(`${topic}/${partition}`, reached);
    }
  }
  return found;
}
