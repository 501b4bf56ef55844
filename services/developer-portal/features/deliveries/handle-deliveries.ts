import { randomBytes } from 'node:crypto';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { judgeCallbackUrl } from '#shared/contracts/webhooks/judge-callback-url.ts';
import type { TestEvent } from '#shared/contracts/webhooks/test-event.ts';
import { firstDelivery, type NewWebhook, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import { type DeliveryView, FAILED_MAX } from '#shared/stores/webhooks/deliveries.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Call, Handlers } from '../../http/call.ts';
import { requestOf } from '../../http/idempotency.ts';
import { presentDelivery, presentDeliverySummary } from '../present.ts';
import type { DELIVERY_OPERATIONS } from './delivery-operations.ts';

const TEST_EVENTS = { name: 'test-event', countMax: 1, windowMs: 20_000 } as const;
/** A bulk resend publishes up to 100 000 messages. */
const BULK_RESENDS = { name: 'resend-failed', countMax: 6, windowMs: 60_000 } as const;
/** Bulk resends at a time, of all accounts. */
const BULK_RESENDS_AT_ONCE_MAX = 4;
const BULK_RESENDS_WAITING_MAX = 64;
/** Three times the longest list of failed webhooks. Webhooks that are answered 410 are in that list
 * again at once. */
const RESENT_WEBHOOKS = { name: 'resent-webhooks', countMax: 3 * FAILED_MAX, windowMs: DAY_MS } as const;
const TEST_EVENT_KEPT_MS = 72 * HOUR_MS;
const ID_BYTES = 16;

type Ids = keyof typeof DELIVERY_OPERATIONS;

/** Webhook deliveries of a developer's apps: list, read, resend and test. */
export function makeDeliveryHandlers(deps: Dependencies): Handlers<Ids> {
  const { deliveries, resends, writes, throttle, idempotency, now } = deps;
  const nowIso = () => new Date(now()).toISOString();
  const ownDelivery = async ({ app, param }: Pick<Call<Ids>, 'app' | 'param'>): Promise<DeliveryView> => {
    const view = await deliveries.read(param('requestId'));
    if (view?.clientId !== app.clientId) throw new ServiceError('not-found', 'there is no such delivery');
    return view;
  };
  const record = (
    { account, owner }: Call<Ids>,
    clientId: string,
    action: string,
    subject: string,
    at: string,
  ) => writes.record({ accountId: owner.accountId, clientId, actor: account.email, action, subject, at });

  /** @throws Problem `rate-limited`, with the number in its detail */
  const chargeResent = async (clientId: string, count: number): Promise<void> => {
    try {
      await throttle.take([{ budget: RESENT_WEBHOOKS, owner: clientId, count }]);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'rate-limited')) throw error;
      throw new Problem('rate-limited', tooManyResent(count), {
        headers: retryAfter(error.retryAfterMs ?? 0),
      });
    }
  };

  const bulkResends = new FairTaskQueue({
    atOnceMax: BULK_RESENDS_AT_ONCE_MAX,
    waitingMax: BULK_RESENDS_WAITING_MAX,
    refusal: 'too many resends are waiting',
  });
  /** Refunds the charges of webhooks that were not sent. */
  const resendFailed = async (
    clientId: string,
    { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  ): Promise<{ count: number }> => {
    let unsentCount = 0;
    try {
      const sent = await resends.resendFailed(clientId, sinceMs, {
        untilMs,
        async charge(count) {
          await chargeResent(clientId, count);
          unsentCount = count;
        },
        requireRoom: () => deps.requireRoom(clientId),
      });
      unsentCount -= sent.count;
      return sent;
    } catch (error) {
      // After another error, some may have been sent.
      if (!(error instanceof Problem)) unsentCount = 0;
      throw error;
    } finally {
      const refunded = { budget: RESENT_WEBHOOKS, owner: clientId, count: unsentCount };
      // The webhooks are sent: a refund that fails must not make the client send them again.
      if (unsentCount > 0) await throttle.refund([refunded]).catch(() => undefined);
    }
  };

  return {
    async listDeliveries(call) {
      const { clientId } = call.app;
      const { state, since, before, limit: countMax } = call.query;
      const sinceMs = since === undefined ? undefined : Date.parse(since);
      const page = await deliveries.page(clientId, { state, sinceMs, before, countMax });
      return {
        deliveries: page.deliveries.map(presentDeliverySummary),
        next: page.next,
      };
    },
    async readDelivery(call) {
      const view = await ownDelivery(call);
      const payload = await deps.results.read(view.requestId);
      return { ...presentDelivery(view), payload };
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
      await idempotency.run(
        requestOf('resendDelivery', call, [clientId, requestId]),
        () => ({ resendCount: resendCount + 1, at: nowIso() }),
        async ({ resendCount, at }) => {
          await resends.resend(requestId, {
            resendCount,
            requireRoom: () => deps.requireRoom(clientId),
          });
          await record(call, clientId, 'webhook-resent', requestId, at);
        },
      );
      return { requestId };
    },
    async resendFailed(call) {
      const { clientId } = call.app;
      await throttle.take([{ budget: BULK_RESENDS, owner: clientId }]);
      const { since } = call.body;
      const { at } = await idempotency.plan(requestOf('resendFailed', call, [clientId]), () => ({
        at: nowIso(),
      }));
      const period = { sinceMs: Date.parse(since), untilMs: Date.parse(at) };
      const sent = await bulkResends.run(call.owner.accountId, () => resendFailed(clientId, period));
      // A repetition finds nothing left to send, so it returns the stored count of the first
      // request.
      const counted = await idempotency.plan(requestOf('resendFailed sent', call, [clientId]), () => sent);
      await record(call, clientId, 'webhooks-resent', `${counted.count} since ${since}`, at);
      return counted;
    },
    async sendTestEvent(call) {
      const { clientId, accountId } = call.app;
      const judged = judgeCallbackUrl(call.body.callbackUrl, deps.config.callback);
      if ('fault' in judged) throw invalidBody([{ pointer: '/callbackUrl', ...judged.fault }]);
      const { requestId } = await idempotency.run(
        requestOf('sendTestEvent', call, [clientId]),
        () => ({ requestId: `test_${randomBytes(ID_BYTES).toString('hex')}`, at: nowIso() }),
        async ({ requestId, at }) => {
          await deps.requireRoom(clientId);
          await throttle.take([{ budget: TEST_EVENTS, owner: clientId }], requestId);
          const event = testEvent({ requestId, clientId, accountId, callbackUrl: judged.href }, at);
          const { resultJson, retainUntil } = event;
          // Stored like a result, so that it can be resent like any other delivery.
          await deps.results.saveIfAbsent({ requestId, resultJson, retainUntil: Date.parse(retainUntil) });
          await deps.publish(webhookRequested, event);
          await record(call, clientId, 'test-event-sent', requestId, at);
        },
      );
      return { requestId };
    },
  };
}

/** None of the webhooks is sent. */
const tooManyResent = (count: number): string =>
  `An app resends at most ${RESENT_WEBHOOKS.countMax} failed webhooks in 24 hours; with these ${count} it would be more. Choose a later start, or try again later.`;

/** The delivery of a test event. */
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
  return { ...firstDelivery({ ...about, acceptedAt: at, retainUntil }), resultJson: JSON.stringify(event) };
}
