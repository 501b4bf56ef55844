import { Counter, Gauge, Histogram } from 'prom-client';
import { AttemptClass, type RetryTier, type WebhookState } from '#shared/contracts/webhook.ts';
import { type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';
import type { AttemptOutcome } from './domain/classify-attempt.ts';
import type { BreakerState } from './domain/make-breaker.ts';
import { ASIDE_REASONS, type AsideReason } from './domain/schedule-retry.ts';

type Observed = {
  readonly attempt: number;
  readonly state: WebhookState;
  readonly acceptedAtMs: number;
  readonly atMs: number;
};

export type DispatcherMetrics = {
  readonly observeAttempt: (outcome: AttemptOutcome, observed: Observed) => void;
  readonly countExhausted: () => void;
  /** A message put aside without an attempt. */
  readonly countAside: (reason: AsideReason) => void;
  /** A record dropped because another one works, or has worked, its step. */
  readonly countDropped: (reason: 'taken' | 'superseded' | 'finished') => void;
};

/** What is read at the moment of a scrape. */
export type DispatcherState = {
  readonly slots: { readonly inFlightCount: number; readonly waitingCount: number };
  readonly gate: { readonly breakerCounts: () => Readonly<Record<BreakerState, number>> };
  /** Epoch ms by `now`; `undefined` where nothing is undelivered. */
  readonly oldestUndeliveredAt: () => Promise<number | undefined>;
  /** Deliveries that wait in each retry tier, over all dispatchers. */
  readonly tierDepths: () => Promise<Readonly<Record<RetryTier, number>>>;
  readonly now: () => number;
};

/** The end-to-end figure reaches to a delivery's last hour. */
const DELIVERY_BUCKETS = [...SECONDS_BUCKETS, 300, 1_800, 7_200, 36_000, 144_000];

/** All metrics of the dispatcher. No label names a client, an address or a request. */
export function makeMetrics(
  registry: Registry,
): DispatcherMetrics & { watch: (state: DispatcherState) => void } {
  const registers = [registry];
  const attempts = new Counter({
    name: 'rolecall_webhook_attempts_total',
    help: 'Attempts at webhooks, by what came of them.',
    labelNames: ['class'],
    registers,
  });
  const seconds = new Histogram({
    name: 'rolecall_webhook_delivery_seconds',
    help: 'From the acceptance of a check to its webhook: to the first attempt, and to the delivery.',
    labelNames: ['until'],
    buckets: DELIVERY_BUCKETS,
    registers,
  });
  const attemptSeconds = new Histogram({
    name: 'rolecall_webhook_attempt_seconds',
    help: 'Duration of one attempt.',
    buckets: SECONDS_BUCKETS,
    registers,
  });
  const exhausted = new Counter({
    name: 'rolecall_webhook_exhausted_total',
    help: 'Deliveries given up.',
    registers,
  });
  const aside = new Counter({
    name: 'rolecall_webhook_aside_total',
    help: 'Messages put aside without an attempt, by reason.',
    labelNames: ['reason'],
    registers,
  });
  const dropped = new Counter({
    name: 'rolecall_webhook_records_dropped_total',
    help: 'Records that another record of the same delivery makes needless.',
    labelNames: ['reason'],
    registers,
  });
  // From the first scrape on: a rate over a series that appears with its first event does not see that event.
  for (const attemptClass of AttemptClass.options) attempts.inc({ class: attemptClass }, 0);
  for (const until of ['first-attempt', 'delivered']) seconds.zero({ until });
  for (const reason of ASIDE_REASONS) aside.inc({ reason }, 0);
  for (const reason of ['taken', 'superseded', 'finished']) dropped.inc({ reason }, 0);
  return {
    observeAttempt(outcome, { attempt, state, acceptedAtMs, atMs }) {
      attempts.inc({ class: outcome.class });
      attemptSeconds.observe(outcome.durationMs / 1000);
      const ageSeconds = Math.max(0, atMs - acceptedAtMs) / 1000;
      if (attempt === 1) seconds.observe({ until: 'first-attempt' }, ageSeconds);
      if (state === 'delivered')
        seconds.observe({ until: 'delivered' }, ageSeconds + outcome.durationMs / 1000);
      if (state === 'exhausted') exhausted.inc();
    },
    countExhausted: () => exhausted.inc(),
    countAside: (reason) => aside.inc({ reason }),
    countDropped: (reason) => dropped.inc({ reason }),
    watch: (state) => watchState(registry, state),
  };
}

function watchState(registry: Registry, state: DispatcherState): void {
  const registers = [registry];
  new Gauge({
    name: 'rolecall_webhook_in_flight',
    help: 'Attempts in flight.',
    registers,
    collect() {
      this.set(state.slots.inFlightCount);
    },
  });
  new Gauge({
    name: 'rolecall_webhook_waiting',
    help: 'Messages that wait in memory for a slot.',
    registers,
    collect() {
      this.set(state.slots.waitingCount);
    },
  });
  new Gauge({
    name: 'rolecall_webhook_breakers',
    help: 'Receivers (client app and origin) by the state of their breaker.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [name, count] of Object.entries(state.gate.breakerCounts()))
        this.set({ state: name }, count);
    },
  });
  new Gauge({
    name: 'rolecall_webhook_tier_depth',
    help: 'Deliveries that wait in each retry tier, over all dispatchers.',
    labelNames: ['tier'],
    registers,
    async collect() {
      // While the broker is away there is no figure, rather than an old one.
      const depths = await state.tierDepths().catch(() => undefined);
      this.reset();
      for (const [tier, depth] of Object.entries(depths ?? {})) this.set({ tier }, depth);
    },
  });
  new Gauge({
    name: 'rolecall_webhook_oldest_undelivered_seconds',
    help: 'Age of the oldest check whose webhook is neither delivered nor given up; 0 without one.',
    registers,
    async collect() {
      try {
        const at = await state.oldestUndeliveredAt();
        this.set(at === undefined ? 0 : Math.max(0, state.now() - at) / 1000);
      } catch {
        // The last value stays while the store is away.
      }
    },
  });
}
