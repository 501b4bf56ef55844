import type { RetryTier, WebhookAttempted, WebhookRetry, WebhookState } from '#shared/contracts/webhook.ts';
import { describeError, isRetriable } from '#shared/errors.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import type { SaveResult } from '#shared/redis/results.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import { attemptWebhook } from './attempt-webhook.ts';
import type { Admitted, AttemptGate } from './delivery/admit-attempt.ts';
import type { AttemptDelivery } from './delivery/attempt-delivery.ts';
import { type AttemptOutcome, judgeClass, respectsRetryAfter } from './domain/classify-attempt.ts';
import {
  type AsideReason,
  isGivenUp,
  parseRetryAfter,
  planAside,
  planRetry,
} from './domain/schedule-retry.ts';
import type { Signer } from './domain/sign-message.ts';
import type { DispatcherMetrics } from './metrics.ts';
import { persist } from './persist.ts';

/*
 * pending ──2xx──► delivered          pending ──410──► stopped
 *   │  ▲
 *   │  └── failed, put aside: the record goes to a retry tier, which brings it back when it is due
 *   └── the schedule or the 40 h are spent ──► exhausted
 */

export type DeliveryDependencies = {
  readonly deliveries: Pick<Deliveries, 'claim' | 'takeUp' | 'putAside' | 'record'>;
  readonly readSigners: (clientId: string) => Promise<readonly Signer[]>;
  readonly gate: Pick<AttemptGate, 'admit'>;
  readonly attempt: AttemptDelivery;
  readonly publishRetry: (tier: RetryTier, message: WebhookRetry, traceparent: string) => Promise<void>;
  readonly publishAttempted: (message: WebhookAttempted, traceparent: string) => Promise<void>;
  readonly log: Pick<Logger, 'error'>;
  /** Waited for before an attempt is logged, so that many are logged together: nobody waits for the log. */
  readonly gather: () => Promise<void>;
  /** Waited for before a message is put aside, so that a receiver that hangs costs the others little. */
  readonly gatherAsides: () => Promise<void>;
  readonly metrics: DispatcherMetrics;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Multiplies the schedule, for tests. */
  readonly scale: number;
  readonly userAgent: string;
};

/** With `saving` the result is saved first unless there is one, and the stored bytes are delivered. */
export type DeliverWebhook = (
  delivery: WebhookRetry,
  record: RecordContext,
  saving?: SaveResult,
) => Promise<void>;

/** One step of a delivery, under way. */
type Step = {
  /** With `firstAttemptAt` set: when it was first taken up. */
  readonly delivery: WebhookRetry & { readonly firstAttemptAt: string };
  /** The Kafka record that works it: `topic/partition/offset`. */
  readonly place: string;
  readonly saving: SaveResult | undefined;
} & Pick<RecordContext, 'signal' | 'alive' | 'traceparent'>;

/**
 * Works one step of a delivery, first attempts, retries and resends alike: claim → gate → sign → attempt →
 * hand on (a record that was put aside: gate → claim). Whatever follows is on a topic before this returns, so a
 * crash at any instant repeats at most the attempt, with the same id and the same bytes.
 *
 * @throws ServiceError with retriable codes while broker or store are away: the record is then held
 */
export function makeDeliverWebhook(deps: DeliveryDependencies): DeliverWebhook {
  /** The claimed step, with the bytes that are stored; nothing where another record has it. */
  const claim = async (step: Step): Promise<Step | undefined> => {
    const { delivery, place, saving } = step;
    const { resultJson } = delivery;
    const { deliveries, now, metrics } = deps;
    const claimed = saving
      ? await deliveries.takeUp(delivery, saving, place, now())
      : { outcome: await deliveries.claim(delivery, place, now()), resultJson };
    if (claimed.outcome !== 'claimed') return void metrics.countDropped(claimed.outcome);
    if (claimed.resultJson === resultJson) return step;
    return { ...step, delivery: { ...delivery, resultJson: claimed.resultJson } };
  };

  /** Attempts with leave of the gate. A record that comes back from being put aside is claimed only now. */
  async function attempt(step: Step, leave: Admitted, signers: readonly Signer[]): Promise<void> {
    let outcome: AttemptOutcome | undefined;
    const atMs = deps.now();
    try {
      if (wasPutAside(step) && !(await claim(step))) return;
      outcome = await attemptWebhook(deps, { ...step, signers, atMs });
    } finally {
      leave.end(verdictOf(outcome));
    }
    await handOn(deps, step, outcome, atMs);
  }

  return async function deliverWebhook(delivery, record, saving) {
    const taken = stepOf(deps, delivery, record, saving);
    const isOver = isGivenUp(clockOf(deps, taken.delivery));
    // One that was put aside may go round many times before it gets a slot: until then it writes nothing to the store.
    const step = isOver || !wasPutAside(taken) ? await claim(taken) : taken;
    if (step === undefined) return;
    if (isOver) return giveUp(deps, step);

    const { clientId, callbackUrl, resultJson } = step.delivery;
    const signers = await readSigners(deps, step);
    if (signers === undefined) return putAside(deps, step, 'secret');
    const leave = await deps.gate.admit(clientId, callbackUrl, resultJson.length);
    if (leave.reason !== undefined) return putAside(deps, step, leave.reason);
    await attempt(step, leave, signers);
  };
}

function stepOf(
  deps: DeliveryDependencies,
  delivery: WebhookRetry,
  { topic, partition, offset, signal, alive, traceparent }: RecordContext,
  saving?: SaveResult,
): Step {
  const firstAttemptAt = delivery.firstAttemptAt ?? isoOf(deps.now());
  const place = `${topic}/${partition}/${offset}`;
  return { delivery: { ...delivery, firstAttemptAt }, place, saving, signal, alive, traceparent };
}
/**
 * Makes what is done with a record that cannot be worked: its delivery ends visibly as exhausted, and the record
 * goes to the dead-letter topic.
 */
export function makeGiveUpDelivery(deps: DeliveryDependencies): DeliverWebhook {
  return (delivery, record) => giveUp(deps, stepOf(deps, delivery, record));
}

/**
 * A secret that cannot be read or opened (a key that is missing from the configuration, for example) concerns one
 * client app: its webhooks wait for the operator, on the slow tier, and nobody else's do.
 */
async function readSigners(deps: DeliveryDependencies, { delivery, traceparent }: Step) {
  try {
    return await deps.readSigners(delivery.clientId);
  } catch (error) {
    if (isRetriable(error)) throw error;
    const { requestId, clientId } = delivery;
    deps.log.error(
      { requestId, clientId, traceId: traceIdOf(traceparent), error: describeError(error) },
      'signing secret not to be had',
    );
    return undefined;
  }
}

/** After an attempt: first what must not be lost, then the log, then the view. */
async function handOn(
  deps: DeliveryDependencies,
  step: Step,
  outcome: AttemptOutcome,
  atMs: number,
): Promise<void> {
  const { delivery, traceparent } = step;
  const attempt = delivery.attemptCount + 1;
  const verdict = judgeClass(outcome.class);
  const retry =
    verdict === 'retry'
      ? planRetry(attempt, retryAfterOf(deps, outcome), clockOf(deps, delivery))
      : undefined;
  const dueAt = retry && isoOf(retry.dueAtMs);
  if (retry && dueAt) {
    const next = { ...delivery, attemptCount: attempt, deferralCount: 0, dueAt };
    await persist(() => deps.publishRetry(retry.tier, next, traceparent), step);
  }
  const unfinished: WebhookState = retry ? 'pending' : 'exhausted';
  const state: WebhookState = verdict === 'retry' ? unfinished : verdict;
  const logged = { ...logOf(delivery), ...logOfAttempt(outcome), attempt, at: isoOf(atMs), state };
  await log(deps, dueAt ? { ...logged, nextAttemptAt: dueAt } : logged, step);
  deps.metrics.observeAttempt(outcome, {
    attempt,
    state,
    acceptedAtMs: Date.parse(delivery.acceptedAt),
    atMs,
  });
}

/**
 * Gives the claim back first: then the record that is published next can be claimed by whoever reads it. Also
 * where this record has not claimed yet: it may have done so before a crash, and comes a second time.
 */
async function putAside(deps: DeliveryDependencies, step: Step, reason: AsideReason): Promise<void> {
  const { delivery, place, traceparent } = step;
  const retry = planAside(reason, delivery.deferralCount, clockOf(deps, delivery));
  if (retry === undefined) return giveUp(deps, step);
  const dueAt = isoOf(retry.dueAtMs);
  await deps.gatherAsides();
  await deps.deliveries.putAside(delivery, place, dueAt);
  const next = { ...delivery, deferralCount: delivery.deferralCount + 1, dueAt };
  await deps.publishRetry(retry.tier, next, traceparent);
  deps.metrics.countAside(reason);
}

/** Ends a delivery without an attempt. */
async function giveUp(deps: DeliveryDependencies, step: Step): Promise<void> {
  await log(deps, { ...logOf(step.delivery), at: isoOf(deps.now()), state: 'exhausted' }, step);
  deps.metrics.countExhausted();
}

async function log(deps: DeliveryDependencies, logged: WebhookAttempted, step: Step): Promise<void> {
  await deps.gather();
  await persist(() => deps.publishAttempted(logged, step.traceparent), step);
  await persist(() => deps.deliveries.record(logged), step);
}

const wasPutAside = ({ delivery }: Step): boolean => delivery.deferralCount > 0;

const isoOf = (atMs: number): string => new Date(atMs).toISOString();

const clockOf = (deps: DeliveryDependencies, { firstAttemptAt }: Step['delivery']) => ({
  nowMs: deps.now(),
  startedAtMs: Date.parse(firstAttemptAt),
  jitter: deps.random(),
  scale: deps.scale,
});

const retryAfterOf = (deps: DeliveryDependencies, { status, retryAfter }: AttemptOutcome) =>
  respectsRetryAfter(status) ? parseRetryAfter(retryAfter, deps.now()) : undefined;

function verdictOf(outcome: AttemptOutcome | undefined) {
  if (outcome === undefined) return 'unknown';
  return judgeClass(outcome.class) === 'retry' ? 'failing' : 'healthy';
}

const logOf = ({ requestId, clientId, resendCount, callbackUrl, retainUntil }: WebhookRetry) => ({
  requestId,
  clientId,
  resendCount,
  callbackUrl,
  retainUntil,
});

const logOfAttempt = (outcome: AttemptOutcome) => ({
  class: outcome.class,
  durationMs: outcome.durationMs,
  ...(outcome.status === undefined ? {} : { status: outcome.status }),
  ...(outcome.body ? { responseBody: outcome.body } : {}),
});
