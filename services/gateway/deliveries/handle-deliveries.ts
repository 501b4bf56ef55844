import { faultsOfIssues } from '#shared/contracts/fault.ts';
import { isWatchEventId } from '#shared/contracts/watches/watch-event.ts';
import { requestIdOf, WebhookState, webhookIdOf } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError, sentenceOf } from '#shared/errors.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import type { JsonBody } from '#shared/http/read-json-body.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Handle, Param } from '#shared/http/serve-routes.ts';
import { auditMissing } from '#shared/stores/audit/audit-trail.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { admitFirst, admitRead, admitWrite, type Parsed } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Request, sendJson, sendNothing } from '../edge/exchange.ts';
import { pageOf, queryOf } from '../edge/parse-document-request.ts';
import { describeDelivery, watchIdOf } from './describe-delivery.ts';
import { ResendFailedBody } from './operations.ts';

/** The handlers of webhook deliveries. */
export const deliveryHandlers = (deps: Dependencies) => ({
  listDeliveries: makeList(deps),
  readDelivery: makeRead(deps),
  resendDelivery: makeResend(deps),
  resendFailed: makeResendFailed(deps),
});

const makeList =
  (deps: Dependencies): Handle =>
  async (request, response) => {
    const { app } = await admitRead(deps, request, response);
    const asked = listOf(request);
    const answer = await deps.documentLists.run(app, async () => {
      const { deliveries, next } = await deps.deliveries.page(app.clientId, asked);
      const summaries = await summarize(deps, deliveries);
      return {
        deliveries: deliveries.map(({ attempts }, i) => ({
          ...summaries[i],
          attempts: attempts.length,
          lastAttempt: lastOf(attempts),
        })),
        ...(next === undefined ? {} : { next: webhookIdOf(next) }),
      };
    });
    sendJson(response, 200, JSON.stringify(answer));
  };

const makeRead =
  (deps: Dependencies): Handle =>
  async (request, response, param) => {
    const { app } = await admitRead(deps, request, response);
    const view = await readOwn(deps, app.clientId, param);
    const [summary] = await summarize(deps, [view]);
    const attempts = view.attempts.map(({ attempt, durationMs, ...one }) => ({
      attempt,
      ...presentAttempt(one),
      durationMs,
    }));
    sendJson(response, 200, JSON.stringify({ ...summary, attempts, lastAttempt: lastOf(view.attempts) }));
  };

const makeResend =
  (deps: Dependencies): Handle =>
  async (request, response, param) => {
    const caller = await admitFirst(deps, request, response, 'per-second');
    const { clientId } = caller.app;
    const { requestId, state, resendCount } = await readOwn(deps, clientId, param);
    if (state === 'pending')
      throw new Problem('delivery-pending', 'The delivery has not ended; its attempts continue.');
    await withinBudget(() => deps.bulkResends.takeOne(clientId));
    // Of two requests at once both send the same resend, which is delivered once.
    const options = { resendCount: resendCount + 1, requireRoom: () => deps.requireRoom(clientId) };
    await deps.resends.resend(requestId, options).catch((error: unknown) => {
      throw error instanceof ServiceError && error.code === 'not-found' ? notFound() : error;
    });
    await record(deps, caller, 'webhook-resent', requestId);
    sendNothing(response, 202);
  };

const makeResendFailed =
  (deps: Dependencies): Handle =>
  async (request, response) => {
    const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
      parseResendFailed(await deps.readBody(request, response, app)),
    );
    const { clientId } = caller.app;
    const sent = await withinBudget(async () => {
      await deps.bulkResends.take(clientId);
      return deps.bulkResends.send(caller.app, { sinceMs: Date.parse(asked.since) });
    });
    await record(deps, caller, 'webhooks-resent', `${sent.count} since ${asked.since}`);
    sendJson(response, 202, JSON.stringify(sent));
  };

const notFound = () =>
  new Problem('delivery-not-found', 'This client app has no delivery with this id, or it is no longer kept.');

/** A delivery of another client app is not found. */
async function readOwn({ deliveries }: Dependencies, clientId: string, param: Param): Promise<DeliveryView> {
  const requestId = requestIdOf(param('webhookId'));
  const view = requestId === undefined ? undefined : await deliveries.read(requestId);
  if (view?.clientId !== clientId) throw notFound();
  return view;
}

/** The part of the list that a query asks for. @throws Problem `validation-failed` */
function listOf(request: Request) {
  const state = WebhookState.optional().safeParse(queryOf(request).get('state') || undefined);
  const detail = `The parameter state must be one of ${WebhookState.options.join(', ')}.`;
  const faults = state.success ? [] : [{ pointer: '', code: 'malformed', detail }];
  const { countMax, after } = pageOf(request, (text) => requestIdOf(text) !== undefined, faults);
  return { state: state.data, countMax, before: after === undefined ? undefined : requestIdOf(after) };
}

function parseResendFailed(body: JsonBody): Parsed<ResendFailedBody> {
  if (!body.ok) return { ok: false, problem: new Problem(body.code, body.detail) };
  const parsed = ResendFailedBody.safeParse(body.json);
  if (parsed.success) return { ok: true, value: parsed.data };
  const detail = 'The body must be { "since": an instant such as "2026-11-20T10:00:00Z" }.';
  const faults = faultsOfIssues(parsed.error.issues, body.json, (_issue, pointer) => ({
    pointer,
    code: 'malformed',
    detail,
  }));
  return { ok: false, problem: invalidBody(faults) };
}

/** The beginning of each delivery's answer. Only an event of a watch needs its body for it. */
async function summarize({ ids, readBodyHead }: Dependencies, views: readonly DeliveryView[]) {
  return Promise.all(
    views.map(async ({ requestId, clientId, state }) => {
      const head = isWatchEventId(requestId) ? await readBodyHead(requestId) : '';
      const described = describeDelivery(requestId, clientId, ids);
      return { webhookId: webhookIdOf(requestId), ...described, watchId: watchIdOf(head), state };
    }),
  );
}

const presentAttempt = ({ at, status, class: outcome }: Pick<AttemptView, 'at' | 'status' | 'class'>) => ({
  at,
  status,
  class: outcome,
});
function lastOf(attempts: readonly AttemptView[]) {
  const last = attempts.at(-1);
  return last && presentAttempt(last);
}

/** Names the budget of resends in the problem: another service error of this code is a budget of
 * writes. */
async function withinBudget<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'rate-limited')) throw error;
    throw new Problem('rate-limited', sentenceOf(error), {
      members: { 'violated-policies': ['resends'] },
      headers: retryAfter(error.retryAfterMs ?? 0),
    });
  }
}

async function record(
  { recordAudit }: Dependencies,
  { app: { accountId, clientId }, keyId }: Caller,
  action: string,
  subject: string,
): Promise<void> {
  try {
    await recordAudit({ accountId, clientId, actor: keyId, action, subject, kind: 'write' });
  } catch (error) {
    throw auditMissing('the resend is published', error);
  }
}
