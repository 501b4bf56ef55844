import { CONSUMER_GROUPS } from '#shared/contracts/consumer-groups.ts';
import { HealthChecks } from '#shared/http/ops-server.ts';
import { makeKafkaInstruments } from '#shared/kafka/instruments.ts';
import { makeObserveSaved } from '#shared/stores/checks/observe-saved.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import {
  makeRegistry,
  type Registry,
  watchClock,
  watchReadiness,
  watchRedisMemory,
} from '#shared/telemetry/metrics.ts';
import { makeMetrics as makePortalMetrics } from '../../../services/developer-portal/metrics.ts';
import { makeMetrics as makeEvaluatorMetrics } from '../../../services/evaluator/metrics.ts';
import { startLagSampler } from '../../../services/gateway/limits/sample-lag.ts';
import { makeGatewayMetrics } from '../../../services/gateway/metrics.ts';
import { makeMetrics as makeResultStoreMetrics } from '../../../services/result-store/metrics.ts';
import { makeMetrics as makeWatcherMetrics } from '../../../services/watcher/metrics.ts';
import { makeMetrics as makeDispatcherMetrics } from '../../../services/webhook-dispatcher/metrics.ts';

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';
type KnownMetric = {
  readonly name: string;
  readonly type: MetricType;
  /** The labels of the metric itself; every series also has `service`, and the scraper's `job` and
   * `instance`. */
  readonly labels: readonly string[];
};

/** The metrics of each process beside the common ones, as they are once it has started and has had
 * no work. */
const OWN_METRICS: Readonly<Record<string, (registry: Registry) => void>> = {
  gateway: (registry) => void makeGatewayMetrics(registry),
  evaluator: (registry) => {
    makeEvaluatorMetrics(registry, [CHAIN_ID]).observerOf(CHAIN_ID).watch(CHAIN_STATE);
    makeObserveSaved(registry, () => 0);
  },
  'result-store': (registry) => {
    const metrics = makeResultStoreMetrics(registry);
    metrics.watchViews(() => 1);
    makeObserveSaved(registry, () => 0);
  },
  'webhook-dispatcher': (registry) => {
    makeDispatcherMetrics(registry).watch(DISPATCHER_STATE);
    makeObserveSaved(registry, () => 0);
  },
  watcher: (registry) => void makeWatcherMetrics(registry),
  'developer-portal': (registry) => void makePortalMetrics(registry),
};

const CHAIN_ID = 1;
const CHAIN_STATE = {
  endpoints: () => [
    {
      endpoint: '0',
      breaker: 'closed',
      health: { state: 'starting', reason: undefined, method: undefined },
      headNumber: 0,
      inFlightCount: 0,
      readsPerCallMax: 1,
    } as const,
  ],
  quarantinedCount: () => 0,
  waitingReadCount: () => 0,
};

const DISPATCHER_STATE = {
  slots: { inFlightCount: 0, waitingCount: 0 },
  gate: { breakerCounts: () => ({ closed: 0, open: 0, 'half-open': 0 }) },
  oldestUndeliveredAt: async () => undefined,
  redisNowMs: () => 0,
};

export const PROCESSES = Object.keys(OWN_METRICS);

const CONSUMER_STATE = { runningCount: 0, parkedCount: 0, isJoined: true, partitionCount: 1 };

/** A registry with the metrics that all processes have. */
function commonRegistry(process: string): Registry {
  const registry = makeRegistry(process);
  const readiness = new HealthChecks();
  readiness.add('process', () => true);
  watchReadiness(registry, readiness);
  watchClock(registry, { skewMs: () => 0 });
  watchRedisMemory(registry, () => ({ usedBytes: 0, maxBytes: 0 }));
  makeKafkaInstruments(registry).ofGroup('group', ['topic']).watch(CONSUMER_STATE);
  return registry;
}

/** The text of the first scrape of a process that has started; a gateway samples the lag of the
 * groups when it starts. */
export async function firstScrapeOf(process: string): Promise<string> {
  const registry = commonRegistry(process);
  if (process === 'gateway') await sampleLagOnce(makeGatewayMetrics(registry));
  else OWN_METRICS[process]?.(registry);
  return registry.metrics();
}

async function sampleLagOnce(metrics: ReturnType<typeof makeGatewayMetrics>): Promise<void> {
  const isSampled = Promise.withResolvers<void>();
  const admin = {
    fetchTopicOffsets: async () => [{ partition: 0, offset: '0', high: '0', low: '0' }],
    async fetchOffsets({ groupId, topics = [] }: { groupId: string; topics?: readonly unknown[] }) {
      // The last group that is sampled.
      if (groupId === CONSUMER_GROUPS.webhookRetries) isSampled.resolve();
      const partitions = [{ partition: 0, offset: '0', metadata: null }];
      return topics.map((topic) => ({ topic: String(topic), partitions }));
    },
  };
  await using _ = startLagSampler({
    kafka: { admin, observeLag: () => undefined },
    metrics,
    now: () => 0,
    log: makeSilentLogger(),
  });
  await isSampled.promise;
}

/**
 * Every metric that a process registers.
 *
 * @example
 * metricsOf('gateway').map(({ name }) => name);
 */
export function metricsOf(process: string): KnownMetric[] {
  const registry = commonRegistry(process);
  OWN_METRICS[process]?.(registry);
  return registry.getMetricsAsArray().map((metric) => {
    // Missing in the library's types, but present on every metric.
    const { name, type, labelNames } = metric as unknown as {
      name: string;
      type: MetricType;
      labelNames: string[];
    };
    return { name, type, labels: labelNames.filter((label) => label !== 'le' && label !== 'quantile') };
  });
}

const EVERYWHERE = ['service', 'job', 'instance'];

/** Every series that a scrape of the whole system may return, with its possible labels. */
export function knownSeries(): Map<string, ReadonlySet<string>> {
  const series = new Map<string, ReadonlySet<string>>([['up', new Set(EVERYWHERE)]]);
  for (const { name, type, labels } of PROCESSES.flatMap(metricsOf)) {
    const all = new Set([...EVERYWHERE, ...labels]);
    if (type !== 'histogram') series.set(name, all);
    else {
      series.set(`${name}_bucket`, new Set([...all, 'le']));
      series.set(`${name}_sum`, all);
      series.set(`${name}_count`, all);
    }
  }
  return series;
}
