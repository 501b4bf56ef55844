import type { RetryTier, WebhookAttempted, WebhookRetry } from '#shared/contracts/webhook.ts';
import type { RecordAt } from '#shared/kafka/work-record.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import type { AttemptGate } from './delivery/admit-attempt.ts';
import type { AttemptDelivery } from './delivery/attempt-delivery.ts';
import { type AttemptOutcome, judgeClass, respectsRetryAfter } from './domain/classify-attempt.ts';
import { isGivenUp, parseRetryAfter, planAside, planRetry, type Retry } from './domain/schedule-retry.ts';
import { type Signer, signMessage } from './domain/sign-message.ts';
import type { DispatcherMetrics } from './metrics.ts';
import { persist } from './persist.ts';

/*
 * pending ──2xx──► delivered          pending ──410──► stopped
 *   │  ▲
 *   │  └── failed, put aside: the record goes to a retry tier, which brings it back when it is due
 *   └── the schedule or the 40 h are spent ──► exhausted
 */

export type DeliveryDependencies = {
  readonly deliveries: Pick<Deliveries, 'claim' | 'putAside' | 'record'>;
  readonly readSigners: (clientId: string) => Promise<readonly Signer[]>;
  readonly gate: Pick<AttemptGate, 'admit'>;
  readonly attempt: AttemptDelivery;
  readonly publishRetry: (tier: RetryTier, message: WebhookRetry) => Promise<void>;
  readonly publishAttempted: (message: WebhookAttempted) => Promise<void>;
  readonly metrics: DispatcherMetrics;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Multiplies the schedule, for tests. */
  readonly scale: number;
  readonly userAgent: string;
};

export type DeliverWebhook = (delivery: WebhookRetry, record: RecordAt) => Promise<void>;

/**
 * Works one step of a delivery, first attempts, retries and resends alike: claim → gate → sign → attempt →
 * hand on. Whatever follows is on a topic before this returns, so a crash at any instant repeats at most the
 * attempt, with the same id and the same bytes.
 *
 * @throws ServiceError with retriable codes while broker or store are away: the record is then held
 */
export function makeDeliverWebhook(deps: DeliveryDependencies): DeliverWebhook {
  return async function deliverWebhook(delivery, record) {
    const place = `${record.topic}/${record.partition}/${record.offset}`;
    const claim = await deps.deliveries.claim(delivery, place, deps.now());
    if (claim !== 'claimed') return deps.metrics.countDropped(claim);

    const startedAtMs = delivery.firstAttemptAt ? Date.parse(delivery.firstAttemptAt) : deps.now();
    const started = { ...delivery, firstAttemptAt: new Date(startedAtMs).toISOString() };
    const clock = () => ({ nowMs: deps.now(), startedAtMs, jitter: deps.random(), scale: deps.scale });
    if (isGivenUp(clock())) return giveUp(deps, started, record.signal);

    const signers = await deps.readSigners(delivery.clientId);
    const leave = await deps.gate.admit(delivery.clientId, delivery.callbackUrl, delivery.resultJson.length);
    if (leave.reason !== undefined) {
      const retry = planAside(leave.reason, delivery.asideCount, clock());
      if (retry === undefined) return giveUp(deps, started, record.signal);
      deps.metrics.countAside(leave.reason);
      return putAside(deps, started, retry, place);
    }

    const atMs = deps.now();
    let outcome: AttemptOutcome | undefined;
    try {
      outcome = await deps.attempt(requestOf(deps, started, signers, atMs));
    } finally {
      leave.end(verdictOf(outcome));
    }
    const retryAfterMs = respectsRetryAfter(outcome.status)
      ? parseRetryAfter(outcome.retryAfter, deps.now())
      : undefined;
    const retry = planRetry(started.attemptCount + 1, retryAfterMs, clock());
    await settle(deps, started, { outcome, atMs, retry, signal: record.signal });
  };
}

/** Hands a delivery on after an attempt: first what must not be lost, then the log, then the view. */
async function settle(
  deps: DeliveryDependencies,
  delivery: WebhookRetry,
  attempted: {
    readonly outcome: AttemptOutcome;
    readonly atMs: number;
    readonly retry: Retry | undefined;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { outcome, atMs, signal } = attempted;
  const verdict = judgeClass(outcome.class);
  const retry = verdict === 'retry' ? attempted.retry : undefined;
  const attempt = delivery.attemptCount + 1;
  const dueAt = retry && new Date(retry.dueAtMs).toISOString();
  if (retry && dueAt) {
    const next = { ...delivery, attemptCount: attempt, asideCount: 0, dueAt };
    await persist(() => deps.publishRetry(retry.tier, next), signal);
  }
  const state = verdict === 'retry' ? (retry ? 'pending' : 'exhausted') : verdict;
  const logged: WebhookAttempted = {
    ...logOf(delivery),
    attempt,
    at: new Date(atMs).toISOString(),
    state,
    class: outcome.class,
    durationMs: outcome.durationMs,
    ...(outcome.status === undefined ? {} : { status: outcome.status }),
    ...(outcome.body ? { responseBody: outcome.body } : {}),
    ...(dueAt ? { nextAttemptAt: dueAt } : {}),
  };
  await persist(() => deps.publishAttempted(logged), signal);
  await persist(() => deps.deliveries.record(logged), signal);
  deps.metrics.observeAttempt(outcome, {
    attempt,
    state,
    acceptedAtMs: Date.parse(delivery.acceptedAt),
    atMs,
  });
}

/** Gives the claim back first: then the record that is published next can be claimed by whoever reads it. */
async function putAside(
  deps: DeliveryDependencies,
  delivery: WebhookRetry,
  retry: Retry,
  place: string,
): Promise<void> {
  const dueAt = new Date(retry.dueAtMs).toISOString();
  await deps.deliveries.putAside(delivery, place, dueAt);
  await deps.publishRetry(retry.tier, { ...delivery, asideCount: delivery.asideCount + 1, dueAt });
}

/** Ends a delivery without an attempt. */
async function giveUp(
  deps: DeliveryDependencies,
  delivery: WebhookRetry,
  signal: AbortSignal,
): Promise<void> {
  const at = new Date(deps.now()).toISOString();
  const logged: WebhookAttempted = { ...logOf(delivery), at, state: 'exhausted' };
  await persist(() => deps.publishAttempted(logged), signal);
  await persist(() => deps.deliveries.record(logged), signal);
  deps.metrics.countExhausted();
}

/**
 * Makes what is done with a record that cannot be worked: its delivery ends visibly as exhausted, and the record
 * goes to the dead-letter topic.
 */
export function makeGiveUpDelivery(deps: DeliveryDependencies) {
  return (delivery: WebhookRetry, record: RecordAt): Promise<void> => giveUp(deps, delivery, record.signal);
}

function requestOf(
  deps: DeliveryDependencies,
  delivery: WebhookRetry,
  signers: readonly Signer[],
  atMs: number,
) {
  const { requestId, resultJson: body } = delivery;
  return {
    url: delivery.callbackUrl,
    body,
    headers: {
      'content-type': 'application/json',
      'user-agent': deps.userAgent,
      'webhook-attempt': String(delivery.attemptCount + 1),
      ...signMessage({ requestId, body, atMs, signers }),
    },
  };
}

function verdictOf(outcome: AttemptOutcome | undefined) {
  if (outcome === undefined) return 'unknown';
  return judgeClass(outcome.class) === 'retry' ? 'failing' : 'healthy';
}

const logOf = ({ requestId, clientId, chain, callbackUrl, retainUntil }: WebhookRetry) => ({
  requestId,
  clientId,
  chain,
  callbackUrl,
  retainUntil,
});
