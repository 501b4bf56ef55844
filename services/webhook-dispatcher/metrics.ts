import type { BreakerState } from '#shared/breaker/breaker.ts';
import { AttemptClass, type WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { makeInstruments, type Registry, SECONDS_BUCKETS } from '#shared/telemetry/metrics.ts';
import type { AttemptOutcome } from './domain/classify-attempt.ts';
import { DEFERRAL_REASONS, type DeferralReason } from './domain/schedule-retry.ts';

type AttemptRecord = {
  readonly attempt: number;
  readonly state: WebhookState;
  readonly acceptedAtMs: number;
  readonly atMs: number;
};

export type DispatcherMetrics = Omit<ReturnType<typeof makeMetrics>, 'watch'>;

type DispatcherState = {
  readonly slots: { readonly inFlightCount: number; readonly waitingCount: number };
  readonly gate: { readonly breakerCounts: () => Readonly<Record<BreakerState, number>> };
  /** Epoch ms, Redis's clock; `undefined` if nothing is undelivered. */
  readonly oldestUndeliveredAt: () => Promise<number | undefined>;
  readonly redisNowMs: () => number;
};

/** The end-to-end buckets reach to the 40 h after which a delivery is given up. */
const DELIVERY_BUCKETS = [...SECONDS_BUCKETS, 300, 1_800, 7_200, 36_000, 144_000];

/** All metrics of the dispatcher. No label names a client, an address or a request. */
export function makeMetrics(registry: Registry) {
  const { counter, histogram, watched } = makeInstruments(registry);
  const attempts = counter('rolecall_webhook_attempts_total', 'Attempts to deliver webhooks, by result.', {
    class: AttemptClass.options,
  });
  const firstAttemptSeconds = histogram(
    'rolecall_webhook_first_attempt_seconds',
    'Time from the acceptance of a check to the first attempt at its webhook.',
    DELIVERY_BUCKETS,
  );
  const deliverySeconds = histogram(
    'rolecall_webhook_delivery_seconds',
    'Time from the acceptance of a check to the delivery of its webhook.',
    DELIVERY_BUCKETS,
  );
  const attemptSeconds = histogram(
    'rolecall_webhook_attempt_seconds',
    'Duration of one attempt.',
    SECONDS_BUCKETS,
  );
  const exhausted = counter('rolecall_webhook_exhausted_total', 'Deliveries that were given up.');
  const deferrals = counter(
    'rolecall_webhook_deferrals_total',
    'Messages deferred without an attempt, by reason.',
    { reason: DEFERRAL_REASONS },
  );
  const dropped = counter(
    'rolecall_webhook_records_dropped_total',
    'Records dropped because another record of the same delivery claimed or finished their step, by reason.',
    { reason: ['taken', 'superseded', 'finished'] },
  );
  return {
    recordAttempt(outcome: AttemptOutcome, { attempt, state, acceptedAtMs, atMs }: AttemptRecord): void {
      attempts.inc({ class: outcome.class });
      attemptSeconds.observe(outcome.durationMs / 1000);
      const ageSeconds = Math.max(0, atMs - acceptedAtMs) / 1000;
      if (attempt === 1) firstAttemptSeconds.observe(ageSeconds);
      if (state === 'delivered') deliverySeconds.observe(ageSeconds + outcome.durationMs / 1000);
      if (state === 'exhausted') exhausted.inc();
    },
    countExhausted: (): void => exhausted.inc(),
    /** A message was deferred without an attempt. */
    countDeferral: (reason: DeferralReason): void => deferrals.inc({ reason }),
    /** A record was dropped because another record claimed or finished its step. */
    countDropped: (reason: 'taken' | 'superseded' | 'finished'): void => dropped.inc({ reason }),
    watch({ slots, gate, oldestUndeliveredAt, redisNowMs }: DispatcherState): void {
      watched('rolecall_webhook_in_flight', 'Attempts in flight.')(() => slots.inFlightCount);
      watched('rolecall_webhook_waiting', 'Messages waiting in memory for a slot.')(() => slots.waitingCount);
      watched('rolecall_webhook_breakers', 'Receivers (client app and origin) by breaker state.', ['state'])(
        () => Object.entries(gate.breakerCounts()).map(([state, count]) => [{ state }, count]),
      );
      watched(
        'rolecall_webhook_oldest_undelivered_seconds',
        'Age of the oldest check whose webhook is neither delivered nor given up; 0 if there is none.',
      )(async () => {
        const at = await oldestUndeliveredAt();
        return at === undefined ? 0 : Math.max(0, redisNowMs() - at) / 1000;
      });
    },
  };
}
