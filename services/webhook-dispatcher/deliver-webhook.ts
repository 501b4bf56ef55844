import {
  bringsBody,
  RETRY_TIERS,
  type RetryTier,
  type WebhookAttempted,
  type WebhookRequested,
  type WebhookRetry,
  type WebhookState,
  webhookRetry,
} from '#shared/contracts/webhooks/webhook.ts';
import { describeError, isRetriable } from '#shared/errors.ts';
import { persist } from '#shared/kafka/consumer/persist.ts';
import type { GiveUp, Handler, RecordContext } from '#shared/kafka/consumer/record.ts';
import { type Results, savingOf } from '#shared/stores/checks/results.ts';
import type { Deliveries } from '#shared/stores/webhooks/deliveries.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import { attemptWebhook } from './attempt-webhook.ts';
import type { Admitted, AttemptGate } from './delivery/admit-attempt.ts';
import type { AttemptDelivery } from './delivery/attempt-delivery.ts';
import { type AttemptOutcome, judgeClass, respectsRetryAfter } from './domain/classify-attempt.ts';
import {
  type Deferral,
  isGivenUp,
  parseRetryAfter,
  planDeferral,
  planRetry,
} from './domain/schedule-retry.ts';
import type { Signer } from './domain/sign-message.ts';
import type { DispatcherMetrics } from './metrics.ts';

/*
 * pending ──2xx──► delivered          pending ──410──► stopped
 *   │  ▲
 *   │  └── failed or deferred: a record in a retry tier brings it back when it is due
 *   └── no attempt or no time (40 h) is left ──► exhausted
 */

export type DeliveryDependencies = {
  readonly deliveries: Pick<Deliveries, 'claim' | 'releaseClaim' | 'record'>;
  /** The bodies of the deliveries. */
  readonly results: Pick<Results, 'saveIfAbsent' | 'read'>;
  readonly readSigners: (clientId: string) => Promise<readonly Signer[]>;
  readonly gate: Pick<AttemptGate, 'admit'>;
  readonly attempt: AttemptDelivery;
  readonly publishRetry: (tier: RetryTier, message: WebhookRetry, traceparent: string) => Promise<void>;
  readonly publishAttempted: (message: WebhookAttempted, traceparent: string) => Promise<void>;
  /** Whether the account of an app has used its bytes of the day: then the answers of its receivers
   * are not kept. */
  readonly isFull: (clientId: string) => boolean;
  readonly log: Pick<Logger, 'error'>;
  readonly metrics: DispatcherMetrics;
  /** Epoch ms, Redis's clock. */
  readonly redisNowMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Multiplies the schedule, for tests. */
  readonly scale: number;
  readonly userAgent: string;
};

type Step = {
  /** Its `firstAttemptAt` is set. */
  readonly delivery: WebhookRetry & { readonly firstAttemptAt: string };
  /** The position of the Kafka record that is being handled: `topic/partition/offset`. */
  readonly position: string;
  /** The tier that the record comes from. */
  readonly waitedIn: RetryTier | undefined;
  /** The bytes to send, once they are saved. */
  readonly body?: string;
} & Pick<RecordContext, 'signal' | 'alive' | 'traceparent'>;

/**
 * Makes the functions that handle one step of a delivery, the same way for first attempts, retries
 * and resends: claim → gate → sign → attempt → schedule the next step (a deferred record: gate →
 * claim). The next record is on its topic before `handle` returns, so a crash at any instant repeats
 * at most the attempt, with the same id and the same bytes. The body is in the first record alone; it
 * is saved with the claim, the first one wins, and it is kept until the delivery has ended.
 *
 * @throws ServiceError with a retriable code while Kafka or Redis is unavailable; the offset stays
 *   uncommitted
 */
export function makeDelivery(deps: DeliveryDependencies) {
  const { deliveries, results, metrics, redisNowMs } = deps;

  const isoNow = () => isoOf(redisNowMs());
  const clockOf = ({ firstAttemptAt }: Step['delivery']) => ({
    nowMs: redisNowMs(),
    startedAtMs: Date.parse(firstAttemptAt),
    jitter: deps.random(),
    scale: deps.scale,
  });
  const retryAfterOf = ({ status, retryAfter }: AttemptOutcome) =>
    respectsRetryAfter(status) ? parseRetryAfter(retryAfter, redisNowMs()) : undefined;

  function stepOf(
    { resultJson: _, check: __, ...delivery }: WebhookRequested,
    { topic, partition, offset, signal, alive, traceparent }: RecordContext,
  ): Step {
    const firstAttemptAt = delivery.firstAttemptAt ?? isoNow();
    const position = `${topic}/${partition}/${offset}`;
    const waitedIn = RETRY_TIERS.find((tier) => webhookRetry[tier].name === topic);
    return { delivery: { ...delivery, firstAttemptAt }, position, waitedIn, signal, alive, traceparent };
  }

  /** Only the ids by which the operator finds the delivery: never body, secret or address. */
  function logError(
    { delivery: { requestId, clientId }, traceparent }: Step,
    error: unknown,
    message: string,
  ) {
    const cause = error === undefined ? {} : { error: describeError(error) };
    deps.log.error({ requestId, clientId, traceId: traceIdOf(traceparent), ...cause }, message);
  }

  async function log(logged: WebhookAttempted, step: Step): Promise<void> {
    await persist(() => deps.publishAttempted(logged, step.traceparent), step);
    await persist(() => deliveries.record(logged), step);
  }

  /** Returns the claimed step with the saved bytes, or `undefined` if another record holds the
   * claim. */
  async function claim(step: Step, message: WebhookRequested): Promise<Step | undefined> {
    const [outcome, body] = await Promise.all([
      deliveries.claim(step.delivery, step.position, redisNowMs()),
      bringsBody(message) ? results.saveIfAbsent(savingOf(message)) : undefined,
    ]);
    if (outcome !== 'claimed') return void metrics.countDropped(outcome);
    return body === undefined ? step : { ...step, body };
  }

  /**
   * Reads the signers, or returns `undefined` if a secret cannot be opened, for example because its
   * key is not configured. Only this client app's webhooks are deferred until the operator has added
   * the key.
   */
  async function readSigners(step: Step) {
    try {
      return await deps.readSigners(step.delivery.clientId);
    } catch (error) {
      if (isRetriable(error)) throw error;
      logError(step, error, 'cannot open the signing secret');
      return undefined;
    }
  }

  /** Attempts after the gate has admitted it. A deferred record is claimed only now. */
  async function attempt(step: Step, admitted: Admitted, signers: readonly Signer[]): Promise<void> {
    let outcome: AttemptOutcome | undefined;
    let atMs = 0;
    try {
      if (wasDeferred(step) && !(await claim(step, step.delivery))) return;
      const body = step.body ?? (await results.read(step.delivery.requestId));
      atMs = redisNowMs();
      if (body !== undefined) outcome = await attemptWebhook(deps, { ...step, body, signers, atMs });
    } finally {
      admitted.end(outcome && judgeClass(outcome.class) !== 'retry');
    }
    if (outcome !== undefined) return scheduleAndLog(step, outcome, atMs);
    // Every body is kept until its delivery has ended, so this one was deleted by hand, or its
    // record sent again too late.
    logError(step, undefined, 'the body of a webhook is not stored');
    await endUnattempted(step);
  }

  /** After an attempt: publishes the retry first, because it must not be lost, then the log record,
   * then the view. */
  async function scheduleAndLog(step: Step, outcome: AttemptOutcome, atMs: number): Promise<void> {
    const { delivery, traceparent } = step;
    const attempt = delivery.attemptCount + 1;
    const verdict = judgeClass(outcome.class);
    const retry =
      verdict === 'retry' ? planRetry(attempt, retryAfterOf(outcome), clockOf(delivery)) : undefined;
    const dueAt = retry && isoOf(retry.dueAtMs);
    if (retry && dueAt) {
      const next = { ...delivery, attemptCount: attempt, deferralCount: 0, dueAt };
      await persist(() => deps.publishRetry(retry.tier, next, traceparent), step);
    }
    const unfinished: WebhookState = retry ? 'pending' : 'exhausted';
    const state: WebhookState = verdict === 'retry' ? unfinished : verdict;
    const kept = logOfAttempt(outcome, deps.isFull(delivery.clientId));
    const logged = { ...logOf(delivery), ...kept, attempt, at: isoOf(atMs), state };
    await log(dueAt ? { ...logged, nextAttemptAt: dueAt } : logged, step);
    const acceptedAtMs = Date.parse(delivery.acceptedAt);
    metrics.recordAttempt(outcome, { attempt, state, acceptedAtMs, atMs });
  }

  /**
   * Releases the claim first, so that the record published next can claim the step. A deferred record
   * releases too, although it has not claimed now: it may have claimed before a crash, and be read a
   * second time.
   */
  async function defer(step: Step, deferral: Deferral): Promise<void> {
    const { delivery, position, waitedIn, traceparent } = step;
    const retry = planDeferral(deferral, delivery.deferralCount, clockOf(delivery), waitedIn);
    if (retry === undefined) return endUnattempted(step);
    const dueAt = isoOf(retry.dueAtMs);
    await deliveries.releaseClaim(delivery, position, dueAt, redisNowMs());
    const next = { ...delivery, deferralCount: delivery.deferralCount + 1, dueAt };
    await deps.publishRetry(retry.tier, next, traceparent);
    metrics.countDeferral(deferral.reason);
  }

  async function endUnattempted(step: Step): Promise<void> {
    await log({ ...logOf(step.delivery), at: isoNow(), state: 'exhausted' }, step);
    metrics.countExhausted();
  }

  const handle: Handler<WebhookRequested> = async (message, record) => {
    const received = stepOf(message, record);
    const isOver = isGivenUp(clockOf(received.delivery));
    // A record may be deferred many times before it gets a slot: until then it claims nothing.
    const step = isOver || !wasDeferred(received) ? await claim(received, message) : received;
    if (step === undefined) return;
    if (isOver) return endUnattempted(step);

    const signers = await readSigners(step);
    if (signers === undefined) return defer(step, { reason: 'secret' });
    const { delivery, body } = step;
    const admission = await deps.gate.admit(delivery, delivery.callbackUrl, body?.length ?? 0);
    if (admission.reason !== undefined) return defer(step, admission);
    await attempt(step, admission, signers);
  };

  /** Ends the delivery of a record that cannot be handled: it is shown as exhausted, and the consumer
   * writes the record to the dead-letter topic. An unreadable record is in that topic alone. */
  const giveUp: GiveUp<WebhookRequested> = async ({ message, record }) => {
    if (message !== undefined) await endUnattempted(stepOf(message, record));
  };

  return { handle, giveUp };
}

const wasDeferred = ({ delivery }: Step): boolean => delivery.deferralCount > 0;

const isoOf = (atMs: number): string => new Date(atMs).toISOString();

const logOf = (delivery: WebhookRetry) => {
  const { requestId, clientId, accountId, resendCount, callbackUrl, acceptedAt, retainUntil } = delivery;
  return { requestId, clientId, accountId, resendCount, callbackUrl, acceptedAt, retainUntil };
};

const logOfAttempt = (outcome: AttemptOutcome, isFull: boolean) => ({
  class: outcome.class,
  durationMs: outcome.durationMs,
  ...(outcome.status === undefined ? {} : { status: outcome.status }),
  ...(outcome.body && !isFull ? { responseBody: outcome.body } : {}),
});
