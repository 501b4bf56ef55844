import { CONSUMER_GROUPS, TOPICS_OF_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { describeError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { type Fairness, shardOf } from '#shared/kafka/fair-partitioner.ts';
import { type Position, positionsOf } from '#shared/kafka/lag.ts';
import { byPartition } from '#shared/kafka/topic-offsets.ts';
import { startRepeating } from '#shared/repeat.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { IssuedLane } from '../checks/request-ids.ts';
import type { GatewayMetrics } from '../metrics.ts';

/** The fair partitioner needs the lag of the lanes within a second; the other groups are for
 * dashboards, scraped every 15 s. */
const LANE_INTERVAL_MS = 1_000;
const OTHERS_INTERVAL_MS = 15_000;
/** A lane without lag for which no request asks is sampled only once in this many intervals. */
const IDLE_INTERVALS = 5;

const LANE_GROUPS: Readonly<Record<IssuedLane, string>> = {
  ...CONSUMER_GROUPS.lanes,
  batch: CONSUMER_GROUPS.batchLane,
};

/** The groups behind the lanes. Records of the retries wait until they are due, so that their age
 * says nothing. */
const OTHER_GROUPS = Object.keys(TOPICS_OF_GROUPS).filter(
  (group) => !Object.values(LANE_GROUPS).includes(group) && group !== CONSUMER_GROUPS.webhookRetries,
);

type Dependencies = {
  readonly kafka: Pick<KafkaConnection, 'observeLag'> & {
    readonly admin: Pick<KafkaConnection['admin'], 'fetchTopicOffsets' | 'fetchOffsets'>;
  };
  readonly metrics: Pick<GatewayMetrics, 'consumerLag' | 'oldestUnfinished' | 'oldestUncommitted'>;
  readonly now: () => number;
  readonly log: Logger;
};

export type LagSampler = ReturnType<typeof startLagSampler>;

/**
 * Samples the lag of every consumer group, for the partitioner, for load shedding and for
 * dashboards. While the broker is away the last sample counts. After a pause in which no check
 * came, it is up to 5 s old, and for one second at most.
 */
export function startLagSampler(deps: Dependencies) {
  /** By partition. */
  const lanes = new Map<IssuedLane, readonly number[]>();
  const histories = { interactive: makeLagHistory(), bulk: makeLagHistory(), batch: makeLagHistory() };
  const others = new Map<string, ReturnType<typeof makeLagHistory>>();
  const sampleLane = async (lane: IssuedLane): Promise<void> => {
    const [{ topic = '', positions = [] } = {}] = await sampleGroup(deps, LANE_GROUPS[lane]);
    const lags: number[] = [];
    for (const { partition, lag } of positions) lags[partition] = lag;
    lanes.set(lane, lags);
    deps.kafka.observeLag(topic, lags);
    const nowMs = deps.now();
    histories[lane].observe(nowMs, positions);
    deps.metrics.oldestUnfinished.set({ lane }, histories[lane].oldestAgeMs(nowMs) / 1_000);
  };
  let isWanted = false;
  let skipped = 0;
  const isIdle = () => !isWanted && lanes.size > 0 && [...lanes.values()].flat().every((lag) => lag === 0);
  const sampleLanes = async () => {
    if (isIdle() && ++skipped < IDLE_INTERVALS) return;
    isWanted = false;
    skipped = 0;
    await sampleLane('interactive');
    await sampleLane('bulk');
    await sampleLane('batch');
  };
  const sampleOthers = async () => {
    for (const group of OTHER_GROUPS) {
      const sampled = await sampleGroup(deps, group);
      const nowMs = deps.now();
      const ages = sampled.map(({ topic, positions }) => {
        const name = `${group}/${topic}`;
        const history = others.get(name) ?? makeLagHistory();
        others.set(name, history);
        history.observe(nowMs, positions);
        return history.oldestAgeMs(nowMs);
      });
      deps.metrics.oldestUncommitted.set({ group }, Math.max(...ages) / 1_000);
    }
    await sampleGroup(deps, CONSUMER_GROUPS.webhookRetries);
  };
  const onError = (error: unknown) =>
    deps.log.debug({ error: describeError(error) }, 'the lag of consumer groups could not be read');
  const loops = [
    startRepeating(sampleLanes, { intervalMs: LANE_INTERVAL_MS, startsAtOnce: true, onError }),
    startRepeating(sampleOthers, { intervalMs: OTHERS_INTERVAL_MS, startsAtOnce: true, onError }),
  ];
  return {
    /** Unfinished records of a lane as an account meets them, as of the last sample: as many as if
     * all partitions were as full as its own, which no other account's backlog fills alone. */
    laneLag(lane: IssuedLane, { accountId, partitionShare }: Fairness): number {
      isWanted = true;
      const lags = lanes.get(lane) ?? [];
      if (lags.every((lag) => lag === 0)) return 0;
      const own = shardOf(accountId, partitionShare, lags.length);
      return (own.reduce((sum, partition) => sum + (lags[partition] ?? 0), 0) * lags.length) / own.length;
    },
    async [Symbol.asyncDispose]() {
      for (const loop of loops) await loop[Symbol.asyncDispose]();
    },
  };
}

/** Reads a group's positions in each of its topics, in their order, and writes its lag to the metric. */
async function sampleGroup(deps: Dependencies, group: string) {
  const topics = (TOPICS_OF_GROUPS[group] ?? []).map(({ name }) => name);
  const committed = deps.kafka.admin.fetchOffsets({ groupId: group, topics });
  const sampled: { readonly topic: string; readonly positions: Position[] }[] = [];
  for (const topic of topics) {
    const [ends, commits] = await Promise.all([deps.kafka.admin.fetchTopicOffsets(topic), committed]);
    const positions = positionsOf(
      byPartition(ends),
      commits.find((one) => one.topic === topic)?.partitions ?? [],
    );
    for (const { partition, lag } of positions)
      deps.metrics.consumerLag.set({ group, topic, partition: String(partition) }, lag);
    sampled.push({ topic, positions });
  }
  return sampled;
}

/** Samples kept per partition. Above it every second one is dropped, so a long backlog is known
 * less finely. */
const SAMPLES_MAX = 512;

type Sample = readonly [atMs: number, end: number];

/**
 * Estimates the age of a topic's oldest unfinished record without reading it: the record at the
 * committed offset was written before the first sample whose end lay beyond it. So the age is known
 * when every consumer is dead. It is too small by at most the sampling interval.
 *
 * @example
 * const history = makeLagHistory();
 * history.observe(1_000, [{ partition: 0, end: 5, committed: 3 }]);
 * history.oldestAgeMs(4_000); // 3000
 */
export function makeLagHistory() {
  const samples = new Map<number, Sample[]>();
  return {
    /** Adds a sample of all partitions of a topic. */
    observe(atMs: number, positions: readonly Omit<Position, 'lag'>[]): void {
      for (const { partition, end, committed } of positions) {
        const open = (samples.get(partition) ?? []).filter(([, known]) => known > committed);
        if (end > (open.at(-1)?.[1] ?? committed)) open.push([atMs, end]);
        samples.set(partition, open.length > SAMPLES_MAX ? open.filter((_, index) => index % 2 === 0) : open);
      }
    },
    /** Age of the oldest unfinished record, as far as this history reaches; 0 without lag. */
    oldestAgeMs(nowMs: number): number {
      const firsts = [...samples.values()].flatMap(([first]) => (first ? [first[0]] : []));
      return firsts.length === 0 ? 0 : Math.max(0, nowMs - Math.min(...firsts));
    },
  };
}
