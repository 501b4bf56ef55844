import { isWatchEventId } from '#shared/contracts/watches/watch-event.ts';
import { requestIdOf, webhookIdOf } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError, sentenceOf } from '#shared/errors.ts';
import { Problem, retryAfter } from '#shared/http/problem.ts';
import type { Handle, Param } from '#shared/http/serve-routes.ts';
import { auditMissing } from '#shared/stores/audit/audit-trail.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { admitFirst, admitRead, admitWrite } from '../auth/admit-request.ts';
import type { Caller } from '../auth/authenticate.ts';
import type { Dependencies } from '../dependencies.ts';
import { sendJson, sendNothing } from '../edge/exchange.ts';
import { parseBody } from '../edge/parse-document-request.ts';
import { pageOf, parseQuery } from '../edge/parse-query.ts';
import { describeDelivery, watchIdOf } from './describe-delivery.ts';
import { DELIVERY_OPERATIONS, ResendFailedBody } from './operations.ts';

export const deliveryHandlers = (deps: Dependencies) =>
  ({
    async listDeliveries(request, response) {
      const { app } = await admitRead(deps, request, response);
      const asked = parseQuery(request, DELIVERY_OPERATIONS.listDeliveries.query);
      const { countMax, after } = pageOf(asked);
      const before = after && requestIdOf(after);
      const page = { state: asked.state || undefined, countMax, before };
      await deps.documentLists.run(app, async () => {
        const { deliveries, next } = await deps.deliveries.page(app.clientId, page);
        const summaries = await summarize(deps, deliveries);
        const answer = {
          deliveries: deliveries.map(({ attempts }, i) => ({
            ...summaries[i],
            attempts: attempts.length,
            lastAttempt: lastOf(attempts),
          })),
          next: next && webhookIdOf(next),
        };
        sendJson(response, 200, JSON.stringify(answer));
      });
    },
    async readDelivery(request, response, param) {
      const { app } = await admitRead(deps, request, response);
      const view = await readOwn(deps, app.clientId, param);
      const [summary] = await summarize(deps, [view]);
      const attempts = view.attempts.map(({ attempt, durationMs, ...one }) => ({
        attempt,
        ...presentAttempt(one),
        durationMs,
      }));
      sendJson(response, 200, JSON.stringify({ ...summary, attempts, lastAttempt: lastOf(view.attempts) }));
    },
    async resendDelivery(request, response, param) {
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
    },
    async resendFailed(request, response) {
      const { caller, asked } = await admitWrite(deps, request, response, async ({ app }) =>
        parseBody(await deps.readBody(request, response, app), ResendFailedBody, NO_INSTANT),
      );
      const { clientId } = caller.app;
      const sent = await withinBudget(async () => {
        await deps.bulkResends.take(clientId);
        return deps.bulkResends.send(caller.app, { sinceMs: Date.parse(asked.since) });
      });
      await record(deps, caller, 'webhooks-resent', `${sent.count} since ${asked.since}`);
      sendJson(response, 202, JSON.stringify(sent));
    },
  }) satisfies Record<string, Handle>;

const NO_INSTANT = {
  code: 'malformed',
  detail: 'The body must be { "since": an instant such as "2026-11-20T10:00:00Z" }.',
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

const presentAttempt = ({ at, status, class: outcome }: Pick<AttemptView, 'at' | 'status' | 'class'>) =>
  ({ at, status, class: outcome }) as const;
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
