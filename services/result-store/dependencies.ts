import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { OpenViews } from '#shared/stores/replay/open-views.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import type { Metrics } from './metrics.ts';

/** The parts of the result-store, made once at its start; tests replace some of them. */
export type Dependencies = OpenViews & {
  readonly kafka: Pick<KafkaConnection, 'publish' | 'erase' | 'admin'>;
  readonly metrics: Metrics;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  readonly log: Logger;
};
