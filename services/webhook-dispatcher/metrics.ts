import { Counter, Gauge, Histogram } from 'prom-client';
import type { BreakerState } from '#shared/breaker/breaker.ts';
import { AttemptClass, type RetryTier, type WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';
import type { AttemptOutcome } from './domain/classify-attempt.ts';
import { DEFERRAL_REASONS, type DeferralReason } from './domain/schedule-retry.ts';

type AttemptRecord = {
  readonly attempt: number;
  readonly state: WebhookState;
  readonly acceptedAtMs: number;
  readonly atMs: number;
};

export type DispatcherMetrics = {
  readonly recordAttempt: (outcome: AttemptOutcome, record: AttemptRecord) => void;
  readonly countExhausted: () => void;
  /** A message was deferred without an attempt. */
  readonly countDeferral: (reason: DeferralReason) => void;
  /** A record was dropped because another record claimed or finished its step. */
  readonly countDropped: (reason: 'taken' | 'superseded' | 'finished') => void;
};

/** The state that a scrape reads. */
type DispatcherState = {
  readonly slots: { readonly inFlightCount: number; readonly waitingCount: number };
  readonly gate: { readonly breakerCounts: () => Readonly<Record<BreakerState, number>> };
  /** Epoch ms, Redis's clock; `undefined` if nothing is undelivered. */
  readonly oldestUndeliveredAt: () => Promise<number | undefined>;
  /** Deliveries waiting in each retry tier, over all dispatchers. */
  readonly tierDepths: () => Promise<Readonly<Record<RetryTier, number>>>;
  readonly redisNowMs: () => number;
};

/** The end-to-end buckets reach to the 40 h after which a delivery is given up. */
const DELIVERY_BUCKETS = [...SECONDS_BUCKETS, 300, 1_800, 7_200, 36_000, 144_000];

/** All metrics of the dispatcher. No label names a client, an address or a request. */
export function makeMetrics(
  registry: Registry,
): DispatcherMetrics & { watch: (state: DispatcherState) => void } {
  const registers = [registry];
  const counter = <L extends string = never>(name: string, help: string, ...labelNames: L[]) =>
    new Counter<L>({ name: `rolecall_webhook_${name}`, help, labelNames, registers });
  const histogram = (name: string, help: string, buckets: number[]) =>
    new Histogram({ name: `rolecall_webhook_${name}`, help, buckets, registers });
  const attempts = counter('attempts_total', 'Attempts to deliver webhooks, by result.', 'class');
  const firstAttemptSeconds = histogram(
    'first_attempt_seconds',
    'Time from the acceptance of a check to the first attempt at its webhook.',
    DELIVERY_BUCKETS,
  );
  const deliverySeconds = histogram(
    'delivery_seconds',
    'Time from the acceptance of a check to the delivery of its webhook.',
    DELIVERY_BUCKETS,
  );
  const attemptSeconds = histogram('attempt_seconds', 'Duration of one attempt.', SECONDS_BUCKETS);
  const exhausted = counter('exhausted_total', 'Deliveries that were given up.');
  const deferrals = counter('deferrals_total', 'Messages deferred without an attempt, by reason.', 'reason');
  const dropped = counter(
    'records_dropped_total',
    'Records dropped because another record of the same delivery claimed or finished their step, by reason.',
    'reason',
  );
  // Export every series from the first scrape: a rate misses the event with which a series first
  // appears.
  for (const attemptClass of AttemptClass.options) attempts.inc({ class: attemptClass }, 0);
  for (const reason of DEFERRAL_REASONS) deferrals.inc({ reason }, 0);
  for (const reason of ['taken', 'superseded', 'finished']) dropped.inc({ reason }, 0);
  return {
    recordAttempt(outcome, { attempt, state, acceptedAtMs, atMs }) {
      attempts.inc({ class: outcome.class });
      attemptSeconds.observe(outcome.durationMs / 1000);
      const ageSeconds = Math.max(0, atMs - acceptedAtMs) / 1000;
      if (attempt === 1) firstAttemptSeconds.observe(ageSeconds);
      if (state === 'delivered') deliverySeconds.observe(ageSeconds + outcome.durationMs / 1000);
      if (state === 'exhausted') exhausted.inc();
    },
    countExhausted: () => exhausted.inc(),
    countDeferral: (reason) => deferrals.inc({ reason }),
    countDropped: (reason) => dropped.inc({ reason }),
    watch: (state) => watchState(registry, state),
  };
}

function watchState(registry: Registry, state: DispatcherState): void {
  const gauge = (
    name: string,
    help: string,
    collect: (gauge: Gauge) => void | Promise<void>,
    labelNames: string[] = [],
  ) => {
    const made: Gauge = new Gauge({
      name: `rolecall_webhook_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect: () => collect(made),
    });
  };
  gauge('in_flight', 'Attempts in flight.', (each) => each.set(state.slots.inFlightCount));
  gauge('waiting', 'Messages waiting in memory for a slot.', (each) => each.set(state.slots.waitingCount));
  gauge(
    'breakers',
    'Receivers (client app and origin) by breaker state.',
    (each) => {
      for (const [name, count] of Object.entries(state.gate.breakerCounts()))
        each.set({ state: name }, count);
    },
    ['state'],
  );
  gauge(
    'tier_depth',
    'Deliveries waiting in each retry tier, over all dispatchers.',
    async (each) => {
      // Without a reachable broker, export no figure rather than an old one.
      const depths = await state.tierDepths().catch(() => undefined);
      each.reset();
      for (const [tier, depth] of Object.entries(depths ?? {})) each.set({ tier }, depth);
    },
    ['tier'],
  );
  gauge(
    'oldest_undelivered_seconds',
    'Age of the oldest check whose webhook is neither delivered nor given up; 0 if there is none.',
    async (each) => {
      try {
        const at = await state.oldestUndeliveredAt();
        each.set(at === undefined ? 0 : Math.max(0, state.redisNowMs() - at) / 1000);
      } catch {
        // Keep the last value while Redis is unavailable.
      }
    },
  );
}
