import type { Admin } from 'kafkajs';
import { describeError } from '#shared/errors.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { ConsumerProgress } from './consumer-progress.ts';

/** Between two looks at the broker: a quarter of the bound, within these. */
const LOOK_MS_MIN = 250;
const LOOK_MS_MAX = 15_000;

type Dependencies = {
  readonly groupId: string;
  readonly topics: readonly string[];
  readonly progress: () => ConsumerProgress;
  readonly admin: Pick<Admin, 'fetchTopicOffsets' | 'fetchOffsets'>;
  /** For so long a consumer may stand still before it counts as dead. */
  readonly stallMsMax: number;
  readonly log: Logger;
};

export type ProgressWatch = AsyncDisposable & {
  /** True while the consumer moves, has nothing to do, or cannot because something is away. */
  readonly check: () => true | string;
};

type Standstill = { readonly offset: number; readonly sinceMs: number };

/**
 * Watches for a consumer that is alive and consumes nothing. Two signs:
 *
 * | sign | told from a dependency that is away |
 * | --- | --- |
 * | a record in work shows no sign of life | a record that is held for a store or a broker is tried again, which is one |
 * | a partition has records behind the last fetched one (a group that it is not in: behind the last commit), and nothing moves | the broker and the group's coordinator were asked just now, and answered |
 *
 * Each counts after `stallMsMax`. A restart mends these; it mends no broker, so a broker that does not answer is none.
 *
 * @example
 * const watch = startProgressWatch({ groupId, topics, progress: () => consumer.progress, admin, stallMsMax, log });
 * liveness.add(groupId, watch.check);
 */
export function startProgressWatch(deps: Dependencies): ProgressWatch {
  const { stallMsMax, progress } = deps;
  let standstills = new Map<string, Standstill>();
  const look = async () => {
    const found = await lookForStandstill(deps);
    const nowMs = performance.now();
    standstills = new Map(
      [...found].map(([place, offset]) => {
        const known = standstills.get(place);
        return [place, known?.offset === offset ? known : { offset, sinceMs: nowMs }];
      }),
    );
  };
  const intervalMs = Math.min(Math.max(stallMsMax / 4, LOOK_MS_MIN), LOOK_MS_MAX);
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const run = async () => {
    await look().catch((error: unknown) => {
      standstills.clear();
      deps.log.debug({ error: describeError(error) }, 'progress not looked at');
    });
    if (!isStopped) timer = setTimeout(() => void run(), intervalMs).unref();
  };
  timer = setTimeout(() => void run(), intervalMs).unref();
  return {
    check() {
      if (progress().silentWorkMs > stallMsMax)
        return `a record has been in work for more than ${stallMsMax} ms`;
      const oldest = Math.min(...[...standstills.values()].map(({ sinceMs }) => sinceMs));
      return (
        performance.now() - oldest <= stallMsMax || `records wait and none was fetched for ${stallMsMax} ms`
      );
    },
    async [Symbol.asyncDispose]() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** The partitions that have records which this consumer should have fetched by now, and where each stands. */
async function lookForStandstill({ groupId, topics, progress, admin }: Dependencies) {
  const found = new Map<string, number>();
  // Asked in every case: an answer says that the group's coordinator is there.
  const committed = await admin.fetchOffsets({ groupId, topics: [...topics] });
  for (const { topic, partitions } of committed) {
    const ends = await admin.fetchTopicOffsets(topic);
    const commits = new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
    const { isJoined, fetching } = progress();
    const own = new Map(
      fetching.flatMap((at) => (at.topic === topic ? [[at.partition, at.fetchedOffset]] : [])),
    );
    for (const { partition, high, low } of ends) {
      if (isJoined && !own.has(partition)) continue;
      const reached = Math.max(own.get(partition) ?? -1, commits.get(partition) ?? -1, Number(low));
      if (Number(high) > reached) found.set(`${topic}/${partition}`, reached);
    }
  }
  return found;
}
