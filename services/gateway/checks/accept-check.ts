import type { AppAccess } from '#shared/contracts/apps/client-app.ts';
import { RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { memoryOf } from '#shared/contracts/rules/rule-set.ts';
import type { Delivery } from '#shared/contracts/webhooks/delivery.ts';
import { traceOf } from '#shared/http/exchange-trace.ts';
import { Problem, retryAfter } from '#shared/http/problem.ts';
import type { PresentedNonce } from '#shared/stores/checks/admit.ts';
import { parseBeforeLimits } from '../auth/admit-request.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  addHeaders,
  noteMode,
  type Request,
  type Response,
  sendAccepted,
  sendJson,
} from '../edge/exchange.ts';
import { overloadOf, rateHeadersAfterRefund } from '../limits/apply-limits.ts';
import { type AdmittedCheck, isRefundedResult, isToBeRetried, isTooLate, sha256 } from './admit-check.ts';
import type { Waiting } from './await-result.ts';
import { parseRequest, type RefusedRequest, type RequestRules } from './parse-request.ts';
import { type CheckToPublish, laneOf, recordBytesOf } from './publish-check.ts';
import type { SentCheck, ValidCheck } from './validate-check.ts';

/**
 * Answers `POST /access-control/check-roles`: key → scope and permission → body → limits →
 * broker → 202, or the result of a sync check. 202 is sent only after the broker acknowledged. If a
 * request was accepted, its retry is not refused for a later reason, such as a deleted rule set or
 * a full lane.
 */
export function makeAcceptCheck(deps: Dependencies) {
  return async function acceptCheck(request: Request, response: Response): Promise<void> {
    const accepted = await accept(deps, request, response);
    if (accepted === undefined) return;
    const { requestId, waiting, ruleCount, onRefund } = accepted;
    if (!waiting) return answerAccepted(deps, response, requestId);
    try {
      const resultJson = await waiting.result;
      // result-store refunded the charge when it saved this result.
      if (onRefund && isRefundedResult(resultJson, ruleCount)) onRefund();
      answerSync(response, requestId, resultJson);
    } finally {
      waiting.cancel();
    }
  };
}

/** All that a request keeps while it waits for its result: thousands may wait, and their bodies are
 * large. */
type AcceptedCheck = {
  readonly requestId: string;
  /** Of a sync check. */
  readonly waiting: Waiting | undefined;
  readonly ruleCount: number;
  /** Absent for a replay. */
  readonly onRefund: (() => void) | undefined;
};

/** Accepts and publishes a check; undefined if it was answered already. */
async function accept(
  deps: Dependencies,
  request: Request,
  response: Response,
): Promise<AcceptedCheck | undefined> {
  const arrivedAt = performance.now();
  const caller = await deps.authenticate(request, request.ip ?? '');
  const { app, keyId } = caller;
  const refuse = (check: ValidCheck): Problem | undefined => {
    noteMode(response, modeOfCheck(check));
    return deps.rules.refuseSignIn(app, check) ?? overloadOf(deps.isOverloaded, laneOf(check), app);
  };
  const parsed = await parseBeforeLimits(deps, caller, response, async () => {
    const body = await deps.readBody(request, response, app);
    return parseRequest(request, app, body, holding(deps, response), refuse);
  });
  if ('refusal' in parsed) {
    await answerEarlier(deps, app, parsed, response);
    return undefined;
  }
  const { check } = parsed;
  const delivery = deliveryOf(check, deps.replyChannel);
  const admitted = await deps.admitCheck(
    {
      app,
      lane: laneOf(check),
      bytes: recordBytesOf({ app, keyId, check, delivery }),
      nonce: nonceOf(deps, app, check),
      bodyHash: hashOf(check),
      idempotencyKey: parsed.idempotencyKey,
      ruleCount: check.rules.length,
    },
    response,
  );
  const onRefund = refundOf(response, admitted);
  const deadlineAtMs = admitted.nowMs + deps.syncDeadlineMs - (performance.now() - arrivedAt);
  const waiting = await startCheck(deps, {
    ...{ app, keyId, check, delivery, admitted, arrivedAt, deadlineAtMs, onRefund },
    traceparent: traceOf(response),
    onWait: ({ cancel }) => response.on('close', cancel),
  });
  deps.freeMemory(response);
  return {
    requestId: admitted.requestId,
    waiting,
    ruleCount: check.rules.length,
    onRefund: admitted.kind === 'replayed' ? undefined : onRefund,
  };
}

type CheckToStart = Omit<CheckToPublish, 'elapsedMs' | 'deadlineAtMs'> & {
  /** When the request arrived: `performance.now()`. */
  readonly arrivedAt: number;
  /** When the answer of a sync check is due, epoch ms of Redis's clock. */
  readonly deadlineAtMs: number;
  /** Called with the wait for the result of a sync check, before the check is published. */
  readonly onWait: (waiting: Waiting) => void;
};

/** Publishes an admitted check, unless it is a replay; returns the wait for the result of a sync
 * check. */
export async function startCheck(
  deps: Dependencies,
  { arrivedAt, deadlineAtMs, onWait, ...toPublish }: CheckToStart,
): Promise<Waiting | undefined> {
  const { check, admitted } = toPublish;
  const elapsedMs = performance.now() - arrivedAt;
  // Before publishing: the result may be there before the broker's acknowledgement is.
  const waiting = check.isAsync ? undefined : startWaiting(deps, admitted, deps.syncDeadlineMs - elapsedMs);
  if (waiting) onWait(waiting);
  try {
    if (admitted.kind !== 'replayed')
      await deps.publishCheck({
        ...toPublish,
        deadlineAtMs: waiting ? deadlineAtMs : undefined,
        elapsedMs,
      });
  } catch (error) {
    waiting?.cancel();
    throw error;
  }
  return waiting && inTime(waiting, check.rules.length, deadlineAtMs);
}

/** The last look at the store, after the deadline, may find what is charged as a 504: such a result
 * decided nothing. A function of its own, so that what waits does not refer to the check. */
const inTime = (waiting: Waiting, ruleCount: number, deadlineAtMs: number): Waiting => ({
  ...waiting,
  result: waiting.result.then((json) => (isTooLate(json, ruleCount, deadlineAtMs) ? undefined : json)),
});

/** A function of its own, so that what it refers to is not what the request has read. */
const refundOf =
  (response: Response, { admission }: AdmittedCheck) =>
  () =>
    addHeaders(response, rateHeadersAfterRefund(admission));

/** The nonce of a check's sign-ins, which was issued to the app. */
function nonceOf(
  { nonces }: Pick<Dependencies, 'nonces'>,
  { clientId }: AppAccess,
  { signIn }: ValidCheck,
): PresentedNonce | undefined {
  if (signIn === undefined) return undefined;
  const { nonce } = signIn.request;
  const issuedAtMs = nonces.issuedAtOf(nonce, clientId);
  if (issuedAtMs === undefined) throw new RangeError('a sign-in with a foreign nonce was not refused');
  return { nonce, issuedAtMs };
}

/** Counts the memory of a stored set's rules, which are copied for the check that names it. */
export const holding = ({ rules, holdMemory }: Dependencies, response: Response): RequestRules => ({
  ...rules,
  async resolveRuleSet(clientId, body) {
    const ruleSet = await rules.resolveRuleSet(clientId, body);
    if (ruleSet) holdMemory(response, memoryOf(ruleSet));
    return ruleSet;
  },
});

/**
 * Replays the answer of an earlier request with the same idempotency key, for a request that would
 * now be refused.
 *
 * @throws Problem the refusal, if there was none
 */
async function answerEarlier(
  deps: Dependencies,
  app: AppAccess,
  { sent, idempotencyKey, refusal }: RefusedRequest,
  response: Response,
): Promise<void> {
  const earlier = await deps.admitCheck(
    { app, lane: laneOf(sent), bodyHash: hashOf(sent), idempotencyKey, refusal },
    response,
  );
  if (sent.isAsync) answerAccepted(deps, response, earlier.requestId);
  else answerSync(response, earlier.requestId, earlier.resultJson);
}

const hashOf =
  ({ canonical }: SentCheck) =>
  () =>
    sha256(canonical());

export function deliveryOf(check: ValidCheck, replyChannel: string): Delivery {
  if (!check.isAsync) return { mode: 'sync', replyChannel };
  return check.callbackUrl === undefined
    ? { mode: 'poll' }
    : { mode: 'webhook', callbackUrl: check.callbackUrl };
}

const modeOfCheck = (check: ValidCheck): Delivery['mode'] => deliveryOf(check, '').mode;

function startWaiting(
  deps: Dependencies,
  { requestId, resultJson }: AdmittedCheck,
  timeoutMs: number,
): Waiting {
  return resultJson === undefined
    ? deps.waiters.wait({ requestId, timeoutMs })
    : { result: Promise.resolve(resultJson), cancel: () => undefined };
}

const answerAccepted = ({ publicBaseUrl }: Dependencies, response: Response, requestId: string): void =>
  sendAccepted(response, { requestId }, `${publicBaseUrl}${RESPONSES_PATH}${requestId}`);

/** A refused sign-in is alone in `errors`. A result is written without blanks, and a client's text
 * stands in it with escaped quotes. */
const REFUSED_SIGN_IN = '"code":"sign-in-refused"';

const signInRefused = (requestId: string, resultJson: string): Problem => {
  const { errors } = JSON.parse(resultJson) as { readonly errors: unknown };
  return new Problem('sign-in-refused', 'The signature does not prove the wallet.', {
    members: { requestId, errors },
  });
};

export const deadlineExceeded = (requestId: string): Problem =>
  new Problem(
    'deadline-exceeded',
    'The check did not finish before its deadline; poll its result by requestId.',
    { members: { requestId } },
  );

function answerSync(response: Response, requestId: string, resultJson: string | undefined): void {
  if (resultJson === undefined) throw deadlineExceeded(requestId);
  if (resultJson.includes(REFUSED_SIGN_IN)) throw signInRefused(requestId, resultJson);
  // Where asking again cannot help, the failed result is the answer.
  if (!isToBeRetried(resultJson)) {
    sendJson(response, 200, resultJson);
    return;
  }
  const { errors } = JSON.parse(resultJson) as { readonly errors: unknown };
  throw new Problem('evaluation-unavailable', 'No rule could be decided.', {
    members: { requestId, errors },
    headers: retryAfter(1_000),
  });
}
