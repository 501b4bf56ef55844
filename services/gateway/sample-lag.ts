import { audit } from '#shared/contracts/audit.ts';
import { checkCompleted } from '#shared/contracts/check-completed.ts';
import { LANES, type Lane } from '#shared/contracts/check-requested.ts';
import { account, clientApp } from '#shared/contracts/client-app.ts';
import type { TopicSpec } from '#shared/contracts/topic.ts';
import { webhookRequested, webhookRetry } from '#shared/contracts/webhook.ts';
import { describeError } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { type LagHistory, makeLagHistory, type PartitionLook } from './domain/lag-history.ts';
import type { GatewayMetrics } from './metrics.ts';

/** The fair partitioner wants to know its lanes to a second; the other groups are for dashboards. */
const LANE_INTERVAL_MS = 1_000;
const OTHERS_INTERVAL_MS = 5_000;

/** The groups on the road of a check. Named here, for a dead group must be seen as well. */
const LANE_GROUPS = { interactive: 'evaluator.interactive', bulk: 'evaluator.bulk' } as const;
const OTHER_GROUPS: Readonly<Record<string, TopicSpec>> = {
  'result-store': checkCompleted,
  'result-store.accounts': account,
  'result-store.client-apps': clientApp,
  'result-store.audit': audit,
  'webhook-dispatcher': checkCompleted,
  'webhook-dispatcher.requested': webhookRequested,
};
/** Its records rest until they are due: an old one is no sign of anything. */
const DELAYED_GROUP = 'webhook-dispatcher.retry';

export type Dependencies = {
  readonly kafka: Pick<KafkaConnection, 'observeLag'> & {
    readonly admin: Pick<KafkaConnection['admin'], 'fetchTopicOffsets' | 'fetchOffsets'>;
  };
  readonly metrics: Pick<GatewayMetrics, 'consumerLag' | 'oldestUnfinished' | 'oldestUncommitted'>;
  readonly now: () => number;
  readonly log: Logger;
};

export type LagSampler = AsyncDisposable & {
  /** Records of a lane that are not finished, as of the last look. */
  readonly laneLag: (lane: Lane) => number;
};

/**
 * Looks at the lag of the groups on a check's road, for the partitioner, for load shedding and for dashboards.
 * While the broker is away the last look counts.
 *
 * @example
 * const lag = scope.use(startLagSampler({ kafka, metrics, now: clock.now, log }));
 * lag.laneLag('bulk'); // 12
 */
export function startLagSampler(deps: Dependencies): LagSampler {
  const lanes = new Map<Lane, number>();
  const histories = { interactive: makeLagHistory(), bulk: makeLagHistory() };
  const others = new Map<string, LagHistory>();
  const sampleLane = async (lane: Lane): Promise<void> => {
    const topic = LANES[lane].name;
    const looks = await look(deps, LANE_GROUPS[lane], topic);
    const lags = lagsOf(looks);
    lanes.set(
      lane,
      lags.reduce((sum, lag) => sum + lag, 0),
    );
    deps.kafka.observeLag(topic, lags);
    const nowMs = deps.now();
    histories[lane].observe(nowMs, looks);
    deps.metrics.oldestUnfinished.set({ lane }, histories[lane].oldestAgeMs(nowMs) / 1_000);
  };
  const sampleLanes = async () => {
    await sampleLane('interactive');
    await sampleLane('bulk');
  };
  const sampleOthers = async () => {
    for (const [group, topic] of Object.entries(OTHER_GROUPS)) {
      const looks = await look(deps, group, topic.name);
      const history = others.get(group) ?? makeLagHistory();
      others.set(group, history);
      const nowMs = deps.now();
      history.observe(nowMs, looks);
      deps.metrics.oldestUncommitted.set({ group }, history.oldestAgeMs(nowMs) / 1_000);
    }
    for (const tier of Object.values(webhookRetry)) await look(deps, DELAYED_GROUP, tier.name);
  };
  const loops = [
    repeat(sampleLanes, LANE_INTERVAL_MS, deps.log),
    repeat(sampleOthers, OTHERS_INTERVAL_MS, deps.log),
  ];
  return {
    laneLag: (lane) => lanes.get(lane) ?? 0,
    async [Symbol.asyncDispose]() {
      for (const stop of loops) stop();
    },
  };
}

/** One look at a group's partitions of a topic, written to the metric. */
async function look(deps: Dependencies, group: string, topic: string): Promise<PartitionLook[]> {
  const [ends, [committed]] = await Promise.all([
    deps.kafka.admin.fetchTopicOffsets(topic),
    deps.kafka.admin.fetchOffsets({ groupId: group, topics: [topic] }),
  ]);
  const offsets = new Map(committed?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  const looks = ends.map(({ partition, high, low }) => ({
    partition,
    end: Number(high),
    // A group without a commit begins at the earliest record.
    committed: Math.max(offsets.get(partition) ?? -1, Number(low)),
  }));
  for (const { partition, end, committed: from } of looks)
    deps.metrics.consumerLag.set({ group, topic, partition: String(partition) }, Math.max(0, end - from));
  return looks;
}

/** By partition number. */
function lagsOf(looks: readonly PartitionLook[]): number[] {
  const lags: number[] = new Array(looks.length).fill(0);
  for (const { partition, end, committed } of looks) lags[partition] = Math.max(0, end - committed);
  return lags;
}

/** Runs work again and again, `intervalMs` after it ended. A failure is the next round's business. */
function repeat(work: () => Promise<void>, intervalMs: number, log: Logger): () => void {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const run = async () => {
    try {
      await work();
    } catch (error) {
      log.debug({ error: describeError(error) }, 'lag not sampled');
    }
    if (!stopped) timer = setTimeout(() => void run(), intervalMs).unref();
  };
  void run();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
