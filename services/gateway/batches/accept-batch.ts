import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { BATCH_LIMITS } from '#shared/contracts/batches/batch.ts';
import { faultAt, type Judged, notKnown, pointerOf } from '#shared/contracts/fault.ts';
import { BATCH_PATH } from '#shared/contracts/paths.ts';
import { makeGiveWay } from '#shared/fairness/fair-ticks.ts';
import { traceOf } from '#shared/http/exchange-trace.ts';
import { invalidBody, type Problem } from '#shared/http/problem.ts';
import { isObject } from '#shared/rules/validate-rules.ts';
import { admitFirst } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import { inUse, sha256 } from '../checks/admit-check.ts';
import { type RequestRules, readIdempotencyKey, validateFor } from '../checks/parse-request.ts';
import { asSent, type ValidCheck } from '../checks/validate-check.ts';
import type { Dependencies } from '../dependencies.ts';
import { addHeaders, type Request, type Response, sendAccepted } from '../edge/exchange.ts';
import { overloadOf, rateHeadersAfterRefund } from '../limits/apply-limits.ts';
import { type AskLimits, collectBatch, FAULTS_MAX } from './collect-batch.ts';
import { BatchBody } from './operations.ts';
import { makeReadMembers } from './preview-members.ts';
import { limitReached } from './publish-batch.ts';
import { receiveBatch } from './receive-batch.ts';
import { formatOf } from './receive-values.ts';

/**
 * Answers `POST /access-control/check-roles/batch`: key → rate → scope and permission → body →
 * quota and idempotency → broker → 202. The rate comes before the body, whose reading may take
 * long, and so does the question whether quota, lane and the app's slots have room for one entry
 * more; of a preview they are asked again before its members are read. 202 is sent only after the
 * broker acknowledged all parts. If a batch was accepted, its retry is not refused because the lane
 * is full.
 */
export function makeAcceptBatch(deps: Dependencies) {
  return async function acceptBatch(request: Request, response: Response): Promise<void> {
    const { idempotencyKey, faults } = readIdempotencyKey(request);
    // Of one entry: a batch beyond the share of its account or app is refused before its body is
    // read. An accepted one with this key would be replayed.
    const trialOf = (of: AppAccess) => (idempotencyKey === undefined ? trial(of, 1) : undefined);
    const caller = await admitFirst(deps, request, response, 'per-second', trialOf);
    const { app, admission } = caller;
    const format = formatOf(request);
    if (faults.length > 0) throw invalidBody(faults);
    const overload = overloadOf(deps.isOverloaded, 'batch', app);
    if (overload && idempotencyKey === undefined) throw overload;
    if (idempotencyKey === undefined) await requireSlot(deps, app, admission.nowMs);
    using body = await deps.openBody(request, response, app);
    const askLimits = makeAskLimits(deps, caller, { idempotencyKey, overload }, response);
    const collector = collectorFor(caller, deps, { idempotencyKey, hold: body.hold, askLimits });
    const { chunks } = body;
    const giveWay = makeGiveWay(() => deps.takeTurn(app));
    const batch = await receiveBatch(format, { chunks, giveWay }, collector);
    const refusal = overload ?? ('refusal' in batch ? batch.refusal : undefined);
    deps.resumeRequest(response, app);
    const admitted = await deps.admitCheck(
      {
        app,
        lane: 'batch',
        bodyHash: () => batch.bodyHash,
        idempotencyKey,
        cost: batch.entryCount,
        entered: admission,
        refusal,
      },
      response,
    );
    // A refused batch is a replay, or has thrown its refusal.
    if (admitted.kind !== 'replayed' && refusal === undefined && !('refusal' in batch))
      await deps.publishBatch({
        app,
        batch,
        admitted,
        traceparent: traceOf(response),
        onRefund: () => addHeaders(response, rateHeadersAfterRefund(admitted.admission, batch.entryCount)),
      });
    // A watch may have other members than those of the batch that is replayed.
    const stored =
      admitted.kind === 'replayed' ? await deps.batches.readStatus(admitted.requestId) : undefined;
    const { requestId } = admitted;
    const entries = stored?.entries ?? batch.entryCount;
    sendAccepted(response, { requestId, entries }, `${deps.publicBaseUrl}${BATCH_PATH}/${requestId}`);
  };
}

/** Asks whether so many entries would be admitted now. */
const trial = ({ accountId: batchOf }: AppAccess, cost: number) => ({
  seed: '',
  isTrial: true,
  cost,
  batchOf,
});

/** Asks about a preview as it will be admitted once its members are read. */
function makeAskLimits(
  deps: Dependencies,
  { app, admission: entered }: Awaited<ReturnType<typeof admitFirst>>,
  asked: { readonly idempotencyKey: string | undefined; readonly overload: Problem | undefined },
  response: Response,
): AskLimits {
  const { idempotencyKey, overload } = asked;
  return async ({ memberCount, bodyHash }) => {
    if (overload) return overload;
    const keyed = idempotencyKey === undefined ? undefined : { keyHash: sha256(idempotencyKey), bodyHash };
    const check = { ...trial(app, memberCount), claim: keyed };
    const asking = { app, bucket: 'per-second', entered, check } as const;
    const { outcome, claim, nowMs } = await deps.applyLimits(asking, response);
    const isPast = claim !== undefined && nowMs - claim.atMs >= deps.retentionMs.batch;
    // The claim answers: `admitCheck` replays its batch, or refuses.
    if (outcome !== 'counted' && !isPast) return inUse();
    // A batch that is taken over may hold its slot already.
    if (claim !== undefined) return undefined;
    await requireSlot(deps, app, nowMs);
    return undefined;
  };
}

/** Whether the app may have one unfinished batch more: exactly that is decided when it begins.
 * @throws Problem `limit-reached` */
async function requireSlot(
  { batches }: Pick<Dependencies, 'batches'>,
  { clientId, limits }: AppAccess,
  nowMs: number,
): Promise<void> {
  const { unfinished } = BATCH_LIMITS[limits.tier];
  if ((await batches.countUnfinishedOf(clientId, nowMs)) >= unfinished) throw limitReached(unfinished);
}

const collectorFor = (
  caller: Caller,
  deps: Dependencies,
  {
    idempotencyKey,
    ...given
  }: Pick<Parameters<typeof collectBatch>[0], 'hold' | 'askLimits'> & {
    readonly idempotencyKey: string | undefined;
  },
) =>
  collectBatch({
    entriesMax: BATCH_LIMITS[caller.app.limits.tier].entries,
    validateHead: (head) => validateHead(caller.app, head, deps.rules),
    asSent: idempotencyKey === undefined ? undefined : (head) => headAsSent(head, deps.rules),
    readMembers: makeReadMembers(deps, caller),
    ...given,
  });

/** The members of a batch beside its entries or watch, which name the wallets. A batch is always
 * asynchronous. */
const BATCH_MEMBERS: ReadonlySet<string> = new Set(
  Object.keys(BatchBody.shape).filter((name) => name !== 'entries' && name !== 'watch'),
);
/** Stands for the wallets of the entries, which are validated on their own. */
const ANY_ACCOUNT = '0x0000000000000000000000000000000000000001';

const checkOf = (head: object) => ({ ...head, account: ANY_ACCOUNT, async: true });

/** The head as `asSent` validates it; undefined if it has faults, or members that a batch does not
 * have. */
const headAsSent = (head: unknown, rules: RequestRules) =>
  isObject(head) && Object.keys(head).every((name) => BATCH_MEMBERS.has(name))
    ? asSent(checkOf(head), rules)
    : undefined;

/** Validates the members that all entries of a batch share, as an asynchronous check. */
async function validateHead(app: AppAccess, head: unknown, rules: RequestRules): Promise<Judged<ValidCheck>> {
  if (!isObject(head)) return validateFor(app, head, rules);
  const members = Object.entries(head);
  const known = Object.fromEntries(members.filter(([name]) => BATCH_MEMBERS.has(name)));
  const validation = await validateFor(app, checkOf(known), rules);
  // Entries in the first line of NDJSON have a fault of their own.
  const unknown = members
    .flatMap(([name]) => (BATCH_MEMBERS.has(name) || name === 'entries' ? [] : [name]))
    .slice(0, FAULTS_MAX);
  if (unknown.length === 0) return validation;
  const faults = unknown.map((name) =>
    faultAt(pointerOf([name]), 'unknown-member', notKnown(Object.keys(BatchBody.shape))),
  );
  return { ok: false, faults: [...faults, ...(validation.ok ? [] : validation.faults)] };
}
