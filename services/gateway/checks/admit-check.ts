import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { isOverdue, isRefunded, isWorthRetrying } from '#shared/contracts/checks/result.ts';
import { Problem, retryAfter } from '#shared/http/problem.ts';
import type { Admission, AskedCheck, Claim, PresentedNonce } from '#shared/stores/checks/admit.ts';
import { addHeaders, type Response } from '../edge/exchange.ts';
import { type ApplyLimits, limitsAfter } from '../limits/apply-limits.ts';
import { nonceRefused } from '../sign-in/refuse-sign-in.ts';
import type { IssuedLane, RequestIds, Retention } from './request-ids.ts';

/** How long a request waits for another request with the same key that has not published yet. */
const CLAIM_WAIT_MS_MAX = 2_000;
const CLAIM_POLL_MS = 25;

export type AdmittedCheck = {
  readonly requestId: string;
  /** When it was accepted, epoch ms of Redis's clock; the request id holds it too. */
  readonly acceptedAtMs: number;
  /** Redis's clock at this admission. */
  readonly nowMs: number;
  readonly month: string | undefined;
  readonly admission: Admission;
  readonly seed: string;
  readonly idempotency: { readonly keyHash: string; readonly bodyHash: string } | undefined;
  /**
   * `fresh`: to be published. `taken-over`: to be published again under its old id. `replayed`:
   * published before; for a sync check with its result.
   */
  readonly kind: 'fresh' | 'taken-over' | 'replayed';
  readonly resultJson?: string;
};

type Dependencies = {
  readonly applyLimits: ApplyLimits;
  readonly readResult: (requestId: string) => Promise<string | undefined>;
  readonly ids: RequestIds;
  readonly retentionMs: Retention;
  readonly syncDeadlineMs: number;
};

export type CheckToAdmit = {
  readonly app: AppAccess;
  readonly lane: IssuedLane;
  /** SHA-256, hex: equal for two bodies with equal validated values. Asked for only with an
   * idempotency key. */
  readonly bodyHash: () => string;
  readonly idempotencyKey: string | undefined;
  /** Rules of a check that may be sync. */
  readonly ruleCount?: number;
  /** Checks of the month's quota that it costs. Default 1. */
  readonly cost?: number;
  /** Requests of the rate that it counts for. Default 1. */
  readonly places?: number;
  /** Bytes of the check's record. Of a batch none: those of its parts count when they are
   * written. */
  readonly bytes?: number;
  /** The nonce of its sign-ins, which is used by the step that charges it. */
  readonly nonce?: PresentedNonce | undefined;
  /** The admission in which it entered the rate log, if it has. */
  readonly entered?: Admission;
  /** Why the request is refused now. It is still answered if an earlier request with its key was
   * accepted. */
  readonly refusal?: Problem | undefined;
};

export type AdmitCheck = (request: CheckToAdmit, response: Response) => Promise<AdmittedCheck>;

export const sha256 = (text: string): string => hash('sha256', text, 'hex');

/**
 * Whether a stored result is a failure that a new check may not have. The status is found in the
 * text, which is written without blanks.
 */
export const isToBeRetried = (resultJson: string): boolean =>
  resultJson.includes('"status":"failed"') && isWorthRetrying(JSON.parse(resultJson));

/** A result without an error decided something; most have no error, and are not parsed. */
export const isRefundedResult = (resultJson: string | undefined, ruleCount: number): resultJson is string =>
  resultJson !== undefined &&
  !resultJson.includes('"errors":[]') &&
  isRefunded(JSON.parse(resultJson), ruleCount);

/** Whether a result that decided nothing came after the deadline, so that the client got a 504. */
export const isTooLate = (resultJson: string | undefined, ruleCount: number, deadlineAtMs: number): boolean =>
  isRefundedResult(resultJson, ruleCount) &&
  isOverdue(JSON.parse(resultJson), new Date(deadlineAtMs).toISOString());

type SeededCheck = CheckToAdmit & {
  readonly seed: string;
  readonly idempotency: AdmittedCheck['idempotency'];
};

/** `wait`: another request is about to publish. `spent`: the claim has no result to replay and may
 * be replaced. */
type Settled = AdmittedCheck | 'wait' | 'spent';

/**
 * Applies rate, quota and idempotency to a valid check:
 *
 *   no claim ──► fresh ──publish──► published ──same key──► replayed (or, once it is spent, fresh)
 *                  └─ not marked published for 5 s ──same key──► taken-over (past its retention: fresh)
 *
 * The answer of any but a fresh one gets `Idempotency-Replayed`.
 * A check with a `refusal` is replayed, or refused where it would be `fresh` or `taken-over`.
 *
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`, `idempotency-key-reused`,
 *   `idempotency-key-in-use`, `sign-in-refused`, the refusal
 */
export function makeAdmitCheck(deps: Dependencies): AdmitCheck {
  return async function admitCheck(toAdmit, response) {
    const { app, idempotencyKey, places, refusal } = toAdmit;
    const idempotency =
      idempotencyKey === undefined
        ? undefined
        : { keyHash: sha256(idempotencyKey), bodyHash: toAdmit.bodyHash() };
    const seeded: SeededCheck = { ...toAdmit, seed: deps.ids.makeSeed(), idempotency };
    const giveUpAt = performance.now() + CLAIM_WAIT_MS_MAX;
    let { entered } = toAdmit;
    for (let replaces: string | undefined; ; ) {
      const claim = idempotency && { ...idempotency, replaces };
      const admission = await deps.applyLimits(
        { app, bucket: 'per-second', entered, places, check: checkOf(seeded, claim) },
        response,
      );
      // From then on the request is in the rate log.
      entered ??= admission;
      const settled = await settle(deps, { ...seeded, entered }, admission);
      if (typeof settled === 'object') {
        if (settled.kind !== 'fresh') addHeaders(response, { 'idempotency-replayed': 'true' });
        return settled;
      }
      if (settled === 'spent' && refusal) throw refusal;
      if (settled === 'spent') replaces = admission.claim?.seed;
      else await waitForClaim(giveUpAt);
    }
  };
}

async function settle(
  deps: Dependencies,
  attempt: SeededCheck & { readonly entered: Admission },
  admission: Admission,
): Promise<Settled> {
  const { outcome, claim, nowMs, month } = admission;
  const admitted = (from: Claim, kind: AdmittedCheck['kind']): AdmittedCheck => ({
    requestId: from.requestId ?? deps.ids.makeId(from.seed, from.atMs, attempt.lane, attempt.app.clientId),
    acceptedAtMs: from.atMs,
    nowMs,
    month: from.month,
    admission: limitsAfter(attempt.entered, admission),
    seed: from.seed,
    idempotency: attempt.idempotency,
    kind,
  });
  if (outcome === 'counted' && attempt.refusal) throw attempt.refusal;
  if (outcome === 'nonce-expired' || outcome === 'nonce-used') throw nonceRefused(outcome);
  if (outcome === 'fresh' || claim === undefined)
    return admitted({ atMs: nowMs, seed: attempt.seed, requestId: undefined, month: month?.name }, 'fresh');
  // A result under its id would be over before it is stored.
  if (outcome === 'taken-over')
    return isPast(deps, attempt.lane, nowMs - claim.atMs) ? 'spent' : admitted(claim, 'taken-over');
  if (outcome === 'key-reused') throw keyReused();
  if (outcome === 'claimed') return 'wait';
  return judgeReplay(deps, attempt, admitted(claim, 'replayed'));
}

/** Whether results of this age are no longer kept. */
const isPast = (
  { retentionMs }: Pick<Dependencies, 'retentionMs'>,
  lane: IssuedLane,
  ageMs: number,
): boolean => ageMs >= retentionMs[lane];

/** A published claim gives its result or its id; `spent` if there is nothing to replay. */
async function judgeReplay(
  deps: Dependencies,
  { lane, ruleCount = 0 }: Pick<SeededCheck, 'lane' | 'ruleCount'>,
  replay: AdmittedCheck,
): Promise<AdmittedCheck | 'spent'> {
  const ageMs = replay.nowMs - replay.acceptedAtMs;
  if (isPast(deps, lane, ageMs)) return 'spent';
  if (lane !== 'interactive') return replay;
  const resultJson = await deps.readResult(replay.requestId);
  if (resultJson !== undefined) {
    // Of a check that denies what it could not read, a late result is completed and decided nothing.
    const isSpent =
      isToBeRetried(resultJson) ||
      isTooLate(resultJson, ruleCount, replay.acceptedAtMs + deps.syncDeadlineMs);
    return isSpent ? 'spent' : { ...replay, resultJson };
  }
  if (ageMs < deps.syncDeadlineMs) throw inUse();
  return 'spent';
}

/** The limiter's input for a check or batch. */
const checkOf = (
  { app, lane, seed, cost, bytes, nonce, refusal }: SeededCheck,
  claim: AskedCheck['claim'],
): AskedCheck => ({
  ...{ seed, cost, bytes, nonce, claim },
  batchOf: lane === 'batch' ? app.accountId : undefined,
  isReplayOnly: refusal !== undefined,
});

async function waitForClaim(giveUpAt: number): Promise<void> {
  if (performance.now() > giveUpAt) throw inUse();
  await delay(CLAIM_POLL_MS);
}

export const inUse = (): Problem =>
  new Problem(
    'idempotency-key-in-use',
    'The first request with this Idempotency-Key is still running; retry later.',
    { headers: retryAfter(1_000) },
  );

const keyReused = (): Problem =>
  new Problem('idempotency-key-reused', 'This Idempotency-Key was sent with another body; use a new key.', {
    members: {
      errors: [{ pointer: '', code: 'idempotency-key-reused', detail: 'Use a new key for a new body.' }],
    },
  });
