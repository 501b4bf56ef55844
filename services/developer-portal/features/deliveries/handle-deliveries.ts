import { randomBytes } from 'node:crypto';
import { HOUR_MS } from '#shared/contracts/durations.ts';
import { judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import { TEST_EVENT_PREFIX, type TestEvent } from '#shared/contracts/webhooks/test-event.ts';
import { firstDelivery, type NewWebhook, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { invalidBody } from '#shared/http/problem.ts';
import type { DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { makeBulkResends } from '#shared/stores/webhooks/resend-webhooks.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers } from '../../http/operations.ts';
import type { DELIVERY_OPERATIONS } from './delivery-operations.ts';

const TEST_EVENTS = { name: 'test-event', countMax: 1, windowMs: 20_000 } as const;
const TEST_EVENT_KEPT_MS = 72 * HOUR_MS;
const ID_BYTES = 16;

type Ids = keyof typeof DELIVERY_OPERATIONS;

export function makeDeliveryHandlers(deps: Dependencies): Handlers<Ids> {
  const { deliveries, resends, writes, throttle, now } = deps;
  const bulkResends = makeBulkResends(deps);
  const nowIso = () => new Date(now()).toISOString();
  const ownDelivery = async ({ app, param }: Pick<Call<Ids>, 'app' | 'param'>): Promise<DeliveryView> => {
    const view = await deliveries.read(param('requestId'));
    if (view?.clientId !== app.clientId) throw new ServiceError('not-found', 'there is no such delivery');
    return view;
  };
  const record = ({ account, app, owner }: Call<Ids>, action: string, subject: string, at: string) => {
    const about = { accountId: owner.accountId, clientId: app.clientId, actor: account.accountId };
    return writes.record({ ...about, action, subject, kind: 'write', at });
  };

  return {
    async listDeliveries(call) {
      const { clientId } = call.app;
      const { state, since, after: before, limit: countMax } = call.query;
      const sinceMs = since === undefined ? undefined : Date.parse(since);
      const page = await deliveries.page(clientId, { state, sinceMs, before, countMax });
      return {
        deliveries: page.deliveries.map((view) => ({
          ...view,
          attempts: view.attempts.length,
          lastAttempt: view.attempts.at(-1),
        })),
        next: page.next,
      };
    },
    async readDelivery(call) {
      const view = await ownDelivery(call);
      const payload = await deps.results.read(view.requestId);
      return { ...view, payload };
    },
    async readReceiverAnswer(call) {
      const view = await ownDelivery(call);
      // Later attempts may not have reached the receiver.
      const answered = view.attempts.findLast(({ status }) => status !== undefined);
      const answer = answered && (await deps.readReceiverAnswer(view, answered, call.account.accountId));
      return { answer };
    },
    async resendDelivery(call) {
      const { requestId, clientId, resendCount } = await ownDelivery(call);
      await call.once({ resendCount: resendCount + 1, at: nowIso() }, async ({ resendCount, at }) => {
        await resends.resend(requestId, { resendCount, requireRoom: () => deps.requireRoom(clientId) });
        await record(call, 'webhook-resent', requestId, at);
      });
      return { requestId };
    },
    async resendFailed(call) {
      const { clientId } = call.app;
      await bulkResends.take(clientId);
      const { since } = call.body;
      const { at } = await call.once({ at: nowIso() });
      const period = { sinceMs: Date.parse(since), untilMs: Date.parse(at) };
      const sent = await bulkResends.send({ accountId: call.owner.accountId, clientId }, period);
      // A repetition finds nothing left to send, so it returns the stored count of the first
      // request.
      const counted = await call.once(sent, undefined, 'sent');
      await record(call, 'webhooks-resent', `${counted.count} since ${since}`, at);
      return counted;
    },
    async sendTestEvent(call) {
      const { clientId, accountId } = call.app;
      const judged = judgeCallbackUrl(call.body.callbackUrl, deps.config.callback);
      if ('fault' in judged) throw invalidBody([{ pointer: '/callbackUrl', ...judged.fault }]);
      const fresh = { requestId: TEST_EVENT_PREFIX + randomBytes(ID_BYTES).toString('hex'), at: nowIso() };
      return call.once(fresh, async ({ requestId, at }) => {
        await deps.requireRoom(clientId);
        await throttle.take([{ budget: TEST_EVENTS, owner: clientId }], requestId);
        const event = testEvent({ requestId, clientId, accountId, callbackUrl: judged.href }, at);
        await deps.publish(webhookRequested, event);
        await record(call, 'test-event-sent', requestId, at);
      });
    },
  };
}

function testEvent(
  about: Pick<NewWebhook, 'requestId' | 'clientId' | 'accountId' | 'callbackUrl'>,
  at: string,
): NewWebhook {
  const event: TestEvent = {
    type: 'test',
    requestId: about.requestId,
    status: 'completed',
    roles: [],
    errors: [],
    evaluatedAt: at,
    blocks: {},
  };
  const retainUntil = new Date(Date.parse(at) + TEST_EVENT_KEPT_MS).toISOString();
  return firstDelivery({ ...about, acceptedAt: at, retainUntil }, { resultJson: JSON.stringify(event) });
}
