import { hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Lane } from '#shared/contracts/check-requested.ts';
import type { AppAccess } from '#shared/contracts/client-app.ts';
import { isWorthRetrying } from '#shared/contracts/result.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Admission, Admitter, Claim } from '#shared/redis/admit.ts';
import type { Retention } from './domain/judge-poll.ts';
import { type Enter, refuseOverLimit } from './enter.ts';
import type { Response } from './exchange.ts';
import { Problem } from './problem.ts';
import type { RequestIds } from './request-ids.ts';
import type { ValidCheck } from './validate-check.ts';

/** How long a request waits for another one that claimed the same key and has not published yet. */
const CLAIM_WAIT_MS_MAX = 2_000;
const CLAIM_LOOK_MS = 25;

/** A check that got through the limits. */
export type AdmittedCheck = {
  readonly requestId: string;
  /** The instant of acceptance, epoch ms of Redis's clock: the one in the id. */
  readonly acceptedAtMs: number;
  /** Redis's clock at this admission. */
  readonly nowMs: number;
  readonly month: string | undefined;
  /** What the limits said of this very request. */
  readonly admission: Admission;
  readonly seed: string;
  readonly idempotency: { readonly keyHash: string; readonly bodyHash: string } | undefined;
  /**
   * `fresh`: to be published. `taken-over`: to be published again under its old id. `replayed`: published before;
   * a sync check brings its result along.
   */
  readonly kind: 'fresh' | 'taken-over' | 'replayed';
  readonly resultJson?: string;
};

export type Dependencies = {
  readonly enter: Enter;
  readonly admit: Admitter['admit'];
  readonly readResult: (requestId: string) => Promise<string | undefined>;
  readonly ids: RequestIds;
  readonly retentionMs: Retention;
  readonly syncDeadlineMs: number;
};

export type CheckToAdmit = {
  readonly app: AppAccess;
  readonly check: ValidCheck;
  readonly idempotencyKey: string | undefined;
};

export type AdmitCheck = (wish: CheckToAdmit, response: Response) => Promise<AdmittedCheck>;

const sha256 = (text: string): string => hash('sha256', text, 'hex');

export const laneOf = (check: ValidCheck): Lane => (check.isAsync ? 'bulk' : 'interactive');

/**
 * Whether a stored result says only that the check may succeed when it is made again. The text alone tells whether
 * a check failed: it is written without blanks.
 */
export const isToBeRetried = (resultJson: string): boolean =>
  resultJson.includes('"status":"failed"') && isWorthRetrying(JSON.parse(resultJson));

type Attempt = CheckToAdmit & {
  readonly lane: Lane;
  readonly seed: string;
  readonly idempotency: AdmittedCheck['idempotency'];
};

/** `wait`: another request is about to publish. `spent`: the claim leads nowhere any more and may be replaced. */
type Settled = AdmittedCheck | 'wait' | 'spent';

/**
 * Takes a valid check through rate, quota and its idempotency claim:
 *
 *   no claim ──► fresh ──publish──► published ──same key──► replayed (or, once it is spent, fresh)
 *                  └─ not marked published for 5 s ──same key──► taken-over
 *
 * @throws Problem `rate-limited`, `monthly-quota-exceeded`, `idempotency-key-reused`, `idempotency-key-in-use`
 */
export function makeAdmitCheck(deps: Dependencies): AdmitCheck {
  return async function admitCheck(wish, response) {
    const { app, check, idempotencyKey } = wish;
    const seed = deps.ids.makeSeed();
    const idempotency =
      idempotencyKey === undefined
        ? undefined
        : { keyHash: sha256(idempotencyKey), bodyHash: sha256(check.canonical()) };
    const attempt: Attempt = { ...wish, seed, idempotency, lane: laneOf(check) };
    const giveUpAt = performance.now() + CLAIM_WAIT_MS_MAX;
    let admission = await deps.enter(
      { app, bucket: 'per-second', check: { seed, ...(idempotency ? { claim: idempotency } : {}) } },
      response,
    );
    for (let replaces: string | undefined; ; ) {
      const settled = await settle(deps, attempt, admission);
      if (typeof settled === 'object') return settled;
      if (settled === 'spent') replaces = admission.claim?.seed;
      else await waitABit(giveUpAt);
      admission = await askAgain(deps, attempt, replaces);
    }
  };
}

async function settle(deps: Dependencies, attempt: Attempt, admission: Admission): Promise<Settled> {
  const { outcome, claim, nowMs, month } = admission;
  const admitted = (from: Claim, kind: AdmittedCheck['kind']): AdmittedCheck => ({
    requestId: from.requestId ?? deps.ids.makeId(from.seed, from.atMs, attempt.lane, attempt.app.clientId),
    acceptedAtMs: from.atMs,
    nowMs,
    month: from.month,
    admission,
    seed: from.seed,
    idempotency: attempt.idempotency,
    kind,
  });
  if (outcome === 'fresh' || claim === undefined)
    return admitted({ atMs: nowMs, seed: attempt.seed, requestId: undefined, month: month?.name }, 'fresh');
  if (outcome === 'taken-over') return admitted(claim, 'taken-over');
  if (outcome === 'key-reused') throw keyReused();
  if (outcome === 'claimed') return 'wait';
  return judgeReplay(deps, attempt.lane, admitted(claim, 'replayed'));
}

/** A claim was published: its result, its id, or nothing that is worth a replay. */
async function judgeReplay(
  deps: Dependencies,
  lane: Lane,
  replay: AdmittedCheck,
): Promise<AdmittedCheck | 'spent'> {
  const ageMs = replay.nowMs - replay.acceptedAtMs;
  if (ageMs >= deps.retentionMs[lane]) return 'spent';
  if (lane === 'bulk') return replay;
  const resultJson = await deps.readResult(replay.requestId);
  if (resultJson !== undefined) return isToBeRetried(resultJson) ? 'spent' : { ...replay, resultJson };
  if (ageMs < deps.syncDeadlineMs) throw inUse();
  return 'spent';
}

/** The same request once more: its place in the window is paid. */
async function askAgain(
  deps: Dependencies,
  attempt: Attempt,
  replaces: string | undefined,
): Promise<Admission> {
  const { app, seed, idempotency } = attempt;
  const claim = idempotency && { ...idempotency, ...(replaces === undefined ? {} : { replaces }) };
  const admission = await deps.admit({
    clientId: app.clientId,
    limits: app.limits,
    bucket: 'per-second',
    isPaid: true,
    check: { seed, ...(claim ? { claim } : {}) },
  });
  refuseOverLimit(admission, 'per-second');
  return admission;
}

async function waitABit(giveUpAt: number): Promise<void> {
  if (performance.now() > giveUpAt) throw inUse();
  await delay(CLAIM_LOOK_MS);
}

const inUse = (): Problem =>
  new Problem('idempotency-key-in-use', 'The first request with this key is not done yet.', {
    headers: retryAfter(1_000),
  });

const keyReused = (): Problem =>
  new Problem('idempotency-key-reused', 'This key was sent with another body.', {
    members: {
      errors: [{ pointer: '', code: 'idempotency-key-reused', detail: 'Use a new key for a new body.' }],
    },
  });
