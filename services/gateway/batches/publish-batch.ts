import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import {
  BATCH_LIMITS,
  type BatchDelivery,
  type BatchPartRequested,
  checkRequestedBatch,
  roleIdsOf,
} from '#shared/contracts/batches/batch.ts';
import { describeError, isSurelyUnwritten, ServiceError } from '#shared/errors.ts';
import type { LeasedSlots } from '#shared/fairness/leased-slots.ts';
import { invalidBody, Problem, retryAfter } from '#shared/http/problem.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { type AcceptedBatch, type Batches, unfinishedBatchesKey } from '#shared/stores/batches/batches.ts';
import type { Admitter } from '#shared/stores/checks/admit.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import type { AdmittedCheck } from '../checks/admit-check.ts';
import { claimOf, commonMembersOf, fairnessOf, isUnpublished } from '../checks/publish-check.ts';
import type { Retention } from '../checks/request-ids.ts';
import { quotaExceeded } from '../limits/apply-limits.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { CollectedBatch, Part } from './collect-batch.ts';

/** For all parts of a batch; below the lease of its slot. */
const PUBLISH_TIMEOUT_MS = 20_000;
const PART_TIMEOUT_MS_MIN = 1_000;
/** Parts of a batch that wait for the broker at once, of up to 2 MiB each. */
const PARTS_IN_FLIGHT_MAX = 4;

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly admitter: Pick<Admitter, 'markPublished' | 'dropClaim' | 'release'>;
  readonly slots: LeasedSlots;
  readonly batches: Pick<Batches, 'begin' | 'withdraw' | 'register' | 'readStatus' | 'readProgress'>;
  readonly retentionMs: Retention;
  readonly metrics: Pick<GatewayMetrics, 'checksAccepted'>;
  readonly log: Logger;
};

export type BatchToPublish = {
  readonly app: AppAccess;
  readonly batch: CollectedBatch;
  readonly admitted: AdmittedCheck;
  readonly traceparent: string;
  /** Called when the charge is refunded, before the error is thrown. */
  readonly onRefund: () => void;
};

export type PublishBatch = (toPublish: BatchToPublish) => Promise<void>;

/**
 * Publishes the parts of a batch. Resolves once all in-sync replicas have all of them and the batch
 * is registered:
 *
 *   slot of the app, batch begun ──► parts, a few at a time ──► last part ──► registered as accepted ──► claim marked
 *
 * If surely no part was written, by this request or by a retry that took its claim over, the charge
 * is refunded and the claim dropped. Otherwise both stay: the next retry with the same key
 * publishes the same parts again under the same id, which is harmless. A batch that is not retried,
 * or whose gateway died, is abandoned by the result-store (`shared/stores/batches/batches.ts`): its
 * slot was only leased.
 *
 * @throws Problem `limit-reached`, `monthly-quota-exceeded`, `idempotency-key-reused`,
 *   `idempotency-key-in-use`; ServiceError `broker-unavailable`, `publish-unknown`, `overloaded`
 */
export function makePublishBatch(deps: Dependencies): PublishBatch {
  return async function publishBatch(toPublish) {
    const { app, batch, admitted, traceparent } = toPublish;
    const claim = claimOf(app, admitted);
    const logFailure = (message: string) => (error: unknown) =>
      deps.log.warn({ traceId: traceIdOf(traceparent), error: describeError(error) }, message);
    /** Withdraws before it refunds, so that the result-store does not abandon, and refund, the
     * batch a second time. */
    const undo = async (): Promise<void> => {
      if (!(await isUnpublished(deps.admitter, admitted, claim))) return;
      const { month, requestId, seed } = admitted;
      const { clientId } = app;
      await deps.batches.withdraw({ clientId, requestId, seed });
      if (month === undefined) return;
      await deps.admitter.release({ clientId, month, count: batch.entryCount });
      toPublish.onRefund();
    };
    if (admitted.kind === 'taken-over') {
      await refuseOtherRules(deps, toPublish);
      await refuseOtherMembers(deps, toPublish);
    }
    const messages = messagesOf(toPublish, deps.retentionMs);
    const accepted = { ...messages.common, roleIds: roleIdsOf(batch.common.rules) };
    try {
      await begin(deps, toPublish, accepted);
      await publishParts(deps, toPublish, messages);
    } catch (error) {
      if (isSurelyUnwritten(error))
        await undo().catch(logFailure('a batch that was not published could not be withdrawn and refunded'));
      throw error;
    }
    await deps.batches.register(accepted, true).catch((error: unknown) => {
      logFailure('a published batch could not be registered')(error);
      throw new ServiceError('publish-unknown', 'the batch could not be registered as accepted');
    });
    deps.metrics.checksAccepted.inc({ mode: 'batch' }, batch.entryCount);
    if (claim)
      await deps.admitter
        .markPublished({ ...claim, requestId: admitted.requestId })
        .catch(logFailure('the idempotency claim of a batch could not be updated'));
  };
}

/** @throws Problem `limit-reached`, `monthly-quota-exceeded` */
async function begin(
  { slots, batches }: Pick<Dependencies, 'slots' | 'batches'>,
  { app: { clientId, limits }, admitted: { requestId, month, admission, seed } }: BatchToPublish,
  accepted: AcceptedBatch,
): Promise<void> {
  const { unfinished } = BATCH_LIMITS[limits.tier];
  if (!(await slots.take(unfinishedBatchesKey(clientId), requestId, unfinished)))
    throw limitReached(unfinished);
  const charge = month === undefined ? undefined : { month, checksMax: limits.requestsPerMonth };
  if (!(await batches.begin(accepted, charge, seed)))
    throw quotaExceeded(
      admission,
      'The batch was refunded after it could not be published, and the month has not enough left to charge it again.',
    );
}

type Messages = ReturnType<typeof messagesOf>;

/** @throws ServiceError `publish-unknown` if a part was written or may have been */
async function publishParts(
  deps: Pick<Dependencies, 'publish'>,
  { app, batch, traceparent }: BatchToPublish,
  { partOf }: Messages,
): Promise<void> {
  const giveUpAt = performance.now() + PUBLISH_TIMEOUT_MS;
  const parts = [...batch.parts.entries()];
  // Shared by those that publish: each takes the next part.
  const waiting = parts.slice(0, -1).values();
  let failure: unknown;
  let mayBeWritten = false;
  const publishAll = async (parts: Iterable<readonly [number, Part]>): Promise<void> => {
    for (const [index, part] of parts) {
      if (failure !== undefined) return;
      try {
        await deps.publish(checkRequestedBatch, partOf(part, index), {
          traceparent,
          isValidated: true,
          fairness: fairnessOf(app),
          timeoutMs: Math.max(PART_TIMEOUT_MS_MIN, giveUpAt - performance.now()),
        });
        mayBeWritten = true;
      } catch (error) {
        failure = error;
        if (!isSurelyUnwritten(error)) mayBeWritten = true;
      }
    }
  };
  await Promise.all(Array.from({ length: PARTS_IN_FLIGHT_MAX }, () => publishAll(waiting)));
  // After all others: its presence proves that the batch is complete.
  await publishAll(parts.slice(-1));
  if (failure === undefined) return;
  if (mayBeWritten) throw new ServiceError('publish-unknown', 'a part of the batch may have been written');
  throw failure;
}

function messagesOf({ app, batch, admitted }: BatchToPublish, retentionMs: Retention) {
  const { common: check, entryCount, parts, previewDigest } = batch;
  const { callbackUrl } = check;
  const delivery: BatchDelivery =
    callbackUrl === undefined ? { mode: 'poll' } : { mode: 'webhook', callbackUrl };
  const common = {
    ...commonMembersOf({ app, check, admitted }, retentionMs.batch),
    ...(check.explain ? { explain: true } : {}),
    ...(previewDigest === undefined ? {} : { previewDigest }),
    partCount: parts.length,
    entryCount,
    delivery,
  };
  return {
    common,
    partOf: ({ firstIndex, entriesJson }: Part, index: number): BatchPartRequested => ({
      ...common,
      part: index,
      firstIndex,
      entries: JSON.parse(entriesJson.toString()),
    }),
  };
}

/**
 * A retry is the same batch even if its rule set has changed since, but its parts would not be the
 * same: those that are stored were judged by the former rules.
 *
 * @throws Problem `idempotency-key-reused`
 */
async function refuseOtherRules(
  { batches }: Pick<Dependencies, 'batches'>,
  { batch, admitted }: BatchToPublish,
): Promise<void> {
  const digest = batch.common.ruleSet?.digest;
  const stored = digest === undefined ? undefined : await batches.readStatus(admitted.requestId);
  if (!stored || stored.ruleSet?.digest === digest) return;
  const detail = 'The rule set has changed since the first request with this Idempotency-Key; use a new key.';
  throw invalidBody([{ pointer: '/ruleSet', code: 'idempotency-key-reused', detail }]);
}

/**
 * The parts of a preview that took other members would not be the same either. Unless another retry
 * finds the members of the first request, the batch is abandoned, and its charge refunded.
 *
 * @throws Problem `idempotency-key-in-use`
 */
async function refuseOtherMembers(
  { batches }: Pick<Dependencies, 'batches'>,
  { batch, admitted }: BatchToPublish,
): Promise<void> {
  const { previewDigest } = batch;
  const stored = previewDigest === undefined ? undefined : await batches.readProgress(admitted.requestId);
  if (!stored || stored.previewDigest === previewDigest) return;
  const detail =
    'The members of the watch have changed since the first request with this Idempotency-Key, whose batch is not complete; use a new key.';
  throw new Problem('idempotency-key-in-use', detail, { headers: retryAfter(1_000) });
}

export const limitReached = (max: number): Problem =>
  new Problem(
    'limit-reached',
    `This client app may have at most ${max} unfinished batches in its tier; wait until one is finished.`,
  );
