import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { type CheckRequested, LANES, type Lane } from '#shared/contracts/checks/check-requested.ts';
import { RECORD_OVERHEAD_BYTES } from '#shared/contracts/topic.ts';
import type { Delivery } from '#shared/contracts/webhooks/delivery.ts';
import { describeError, isSurelyUnwritten } from '#shared/errors.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { type Admitter, CLAIM_BYTES, type ClaimRef, NONCE_BYTES } from '#shared/stores/checks/admit.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { traceIdOf } from '#shared/telemetry/traceparent.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { AdmittedCheck } from './admit-check.ts';
import type { Retention } from './request-ids.ts';
import type { ValidCheck } from './validate-check.ts';

/** From a request's arrival to 503. A 202 is sent only after the acknowledgement. */
const ACCEPT_TIMEOUT_MS = 4_500;
/** The broker's time even if the request has waited for another request's claim. */
const PUBLISH_TIMEOUT_MS_MIN = 1_000;
/** How many partitions of a lane the checks of an app use. */
const PARTITION_SHARE = { free: 4, paid: 4, enterprise: 12 } as const;

type Dependencies = {
  readonly publish: KafkaConnection['publish'];
  readonly admitter: Pick<Admitter, 'markPublished' | 'dropClaim' | 'release'>;
  readonly retentionMs: Retention;
  readonly metrics: Pick<GatewayMetrics, 'checksAccepted'>;
  readonly log: Logger;
};

export type CheckToPublish = {
  readonly app: AppAccess;
  readonly keyId: string;
  readonly check: ValidCheck;
  readonly admitted: AdmittedCheck;
  readonly delivery: Delivery;
  /** Epoch ms of Redis's clock; sync checks alone. */
  readonly deadlineAtMs: number | undefined;
  readonly traceparent: string;
  /** Since the request's arrival. */
  readonly elapsedMs: number;
  /** Called when the charge is refunded, before the error is thrown. */
  readonly onRefund: () => void;
};

/** Keeps the checks of an account, by whichever of its apps, to its share of a lane's
 * partitions. */
export const fairnessOf = ({ accountId, limits }: AppAccess) => ({
  accountId,
  partitionShare: PARTITION_SHARE[limits.tier],
});

export const laneOf = (check: Pick<ValidCheck, 'isAsync'>): Lane => (check.isAsync ? 'bulk' : 'interactive');

type RecordedCheck = Pick<CheckToPublish, 'app' | 'keyId' | 'check' | 'delivery' | 'deadlineAtMs'> & {
  readonly admitted: Pick<AdmittedCheck, 'requestId' | 'acceptedAtMs' | 'month' | 'idempotency'>;
};

/** Of the length that they have in any record. */
const ANY_ADMISSION: RecordedCheck['admitted'] = {
  requestId: '0'.repeat(64),
  acceptedAtMs: 0,
  month: '2026-11',
  idempotency: { keyHash: '0'.repeat(64), bodyHash: '0'.repeat(64) },
};

/** The most bytes that the record of a check counts for, known before the check is admitted. */
export const recordBytesOf = (
  toMeasure: Pick<RecordedCheck, 'app' | 'keyId' | 'check' | 'delivery'>,
): number =>
  Buffer.byteLength(
    JSON.stringify(messageOf({ ...toMeasure, admitted: ANY_ADMISSION, deadlineAtMs: 0 }, 0)),
  ) + RECORD_OVERHEAD_BYTES;

/** The idempotency claim of an admitted check or batch; nothing without a key. */
export const claimOf = ({ clientId }: AppAccess, { idempotency, seed }: AdmittedCheck) =>
  idempotency && { clientId, keyHash: idempotency.keyHash, seed };

export type PublishCheck = (toPublish: CheckToPublish) => Promise<void>;

/**
 * Publishes a check. Resolves once all in-sync replicas have it.
 *
 * If it was surely not written, by this request or by a retry that took its claim over, the charge
 * is refunded and the claim dropped before the error is thrown. Otherwise both stay: the check may
 * be evaluated, and the next retry publishes it again under the same id, which is harmless.
 *
 * @throws ServiceError `broker-unavailable`, `publish-unknown`, `overloaded`
 */
export function makePublishCheck(deps: Dependencies): PublishCheck {
  return async function publishCheck(toPublish) {
    const { app, check, admitted, delivery } = toPublish;
    const claim = claimOf(app, admitted);
    const traceId = traceIdOf(toPublish.traceparent);
    const logFailure = (error: unknown) =>
      deps.log.warn(
        { traceId, error: describeError(error) },
        'the idempotency claim of a check could not be updated',
      );
    try {
      const lane = laneOf(check);
      await deps.publish(LANES[lane], messageOf(toPublish, deps.retentionMs[lane]), {
        traceparent: toPublish.traceparent,
        isValidated: true,
        isCounted: true,
        fairness: fairnessOf(app),
        timeoutMs: Math.max(PUBLISH_TIMEOUT_MS_MIN, ACCEPT_TIMEOUT_MS - toPublish.elapsedMs),
      });
    } catch (error) {
      if (isSurelyUnwritten(error)) await undo(deps, toPublish, claim).catch(logFailure);
      throw error;
    }
    deps.metrics.checksAccepted.inc({ mode: delivery.mode });
    if (deps.log.isLevelEnabled('debug'))
      deps.log.debug({ requestId: admitted.requestId, traceId }, 'check published');
    if (claim)
      void deps.admitter.markPublished({ ...claim, requestId: admitted.requestId }).catch(logFailure);
  };
}

async function undo(
  { admitter }: Dependencies,
  toPublish: CheckToPublish,
  claim: ClaimRef | undefined,
): Promise<void> {
  const { app, check, admitted, onRefund } = toPublish;
  const { month, seed, acceptedAtMs: atMs } = admitted;
  if (month === undefined || !(await isUnpublished(admitter, admitted, claim))) return;
  const { clientId, accountId } = app;
  const nonce = check.signIn && { nonce: check.signIn.request.nonce, seed };
  const bytes = recordBytesOf(toPublish) + (claim ? CLAIM_BYTES : 0) + (nonce ? NONCE_BYTES : 0);
  const unwritten = { accountId, atMs, bytes };
  await admitter.release({ clientId, month, unwritten, ...(nonce && { nonce }) });
  onRefund();
}

/**
 * Whether a check that this request did not publish was published by no other request with its
 * idempotency key either. Its claim is dropped then, so none will. A request that took a claim over
 * never knows the records of the first one.
 */
export const isUnpublished = async (
  admitter: Pick<Admitter, 'dropClaim'>,
  { kind }: AdmittedCheck,
  claim: ClaimRef | undefined,
): Promise<boolean> => kind === 'fresh' && (claim === undefined || (await admitter.dropClaim(claim)));

function messageOf(
  { app, keyId, check, admitted, delivery, deadlineAtMs }: RecordedCheck,
  retentionMs: number,
): CheckRequested {
  return {
    ...commonMembersOf({ app, check, admitted }, retentionMs),
    keyId,
    account: check.account,
    ...(check.accounts ? { accounts: check.accounts } : {}),
    ...(check.vaults ? { vaults: check.vaults } : {}),
    ...(check.explain ? { explain: true } : {}),
    ...(check.signIn ? { signIn: check.signIn.request } : {}),
    delivery,
    ...(deadlineAtMs === undefined ? {} : { deadlineAt: iso(deadlineAtMs) }),
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** The members that the message of a check and those of a batch's parts have in common. */
export function commonMembersOf(
  { app, check, admitted }: Pick<RecordedCheck, 'app' | 'check' | 'admitted'>,
  retentionMs: number,
) {
  return {
    requestId: admitted.requestId,
    clientId: app.clientId,
    accountId: app.accountId,
    rules: check.rules,
    ...(check.ruleSet ? { ruleSet: check.ruleSet } : {}),
    ...(check.proof ? { proof: { ...check.proof, rulesDigest: check.rulesDigest() } } : {}),
    onUndetermined: check.onUndetermined,
    consistency: check.consistency,
    acceptedAt: iso(admitted.acceptedAtMs),
    retainUntil: iso(admitted.acceptedAtMs + retentionMs),
    ...(admitted.idempotency ? { idempotency: admitted.idempotency } : {}),
    ...(admitted.month ? { chargedMonth: admitted.month } : {}),
  };
}
