import { randomBytes } from 'node:crypto';
import type { Account } from '#shared/contracts/client-app.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { type CallbackPolicy, judgeCallbackUrl } from '#shared/contracts/judge-callback-url.ts';
import type { TestEvent } from '#shared/contracts/test-event.ts';
import { limitsOf, resultBytesOf } from '#shared/contracts/tiers.ts';
import type { NewWebhook } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { FairTaskQueue } from '#shared/fair-task-queue.ts';
import { retryAfter } from '#shared/http/retry-after.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import { FAILED_MAX } from '#shared/redis/delivery-scripts.ts';
import type { DeliveryView } from '#shared/redis/delivery-view.ts';
import type { Results } from '#shared/redis/results.ts';
import type { Draw, Throttle } from '#shared/redis/throttle.ts';
import type { ResendWebhooks } from '#shared/webhooks/resend-webhooks.ts';
import type { ReadOwn } from './app-access.ts';
import type { AuditedWrites } from './audited-writes.ts';
import type { Call, Handlers } from './call.ts';
import { type Idempotency, requestOf } from './idempotency.ts';
import { presentDelivery, presentDeliverySummary } from './present.ts';
import { invalid, Problem } from './problem.ts';

const TEST_EVENTS = { name: 'test-event', countMax: 1, windowMs: 20_000 } as const;
/** A bulk resend publishes up to 100 000 messages. */
const BULK_RESENDS = { name: 'resend-failed', countMax: 6, windowMs: 60_000 } as const;
/** Bulk resends at a time, of all accounts. */
const BULK_RESENDS_AT_ONCE_MAX = 4;
const BULK_RESENDS_WAITING_MAX = 64;
/** Three times the longest list of failed webhooks. Webhooks that are answered 410 are in that list again at once. */
const RESENT_WEBHOOKS = { name: 'resent-webhooks', countMax: 3 * FAILED_MAX, windowMs: DAY_MS } as const;
/** A resent webhook is sent whole, up to eight times. */
const resentBytes = (owner: Account) => ({
  ...{ name: 'resent-bytes', countMax: 2 * resultBytesOf(limitsOf(owner)), windowMs: DAY_MS },
});
const TEST_EVENT_KEPT_MS = 72 * HOUR_MS;
const ID_BYTES = 16;

type Dependencies = {
  readonly readOwn: ReadOwn;
  readonly deliveries: Pick<Deliveries, 'page' | 'read'>;
  readonly results: Pick<Results, 'read' | 'saveIfAbsent'>;
  readonly resends: ResendWebhooks;
  /** Publishes to `webhook.requested.v1`. */
  readonly publishDelivery: (message: NewWebhook) => Promise<void>;
  readonly writes: Pick<AuditedWrites, 'record'>;
  readonly throttle: Throttle;
  readonly idempotency: Idempotency;
  readonly callbackPolicy: CallbackPolicy;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

type Ids = 'listDeliveries' | 'readDelivery' | 'resendDelivery' | 'resendFailed' | 'sendTestEvent';

/** Webhook deliveries of a developer's apps: list, read, resend and test. */
export function makeDeliveryHandlers(deps: Dependencies): Handlers<Ids> {
  const { readOwn, deliveries, resends, writes, throttle, idempotency, now } = deps;
  const nowIso = () => new Date(now()).toISOString();
  const ownApp = ({ account, param }: Call<Ids>) => readOwn(account, param('clientId'));
  const ownDelivery = async (call: Call<'readDelivery' | 'resendDelivery'>): Promise<DeliveryView> => {
    const [{ clientId }, view] = await Promise.all([ownApp(call), deliveries.read(call.param('requestId'))]);
    if (!view || view.clientId !== clientId) throw new ServiceError('not-found', 'there is no such delivery');
    return view;
  };
  const record = (call: Call<Ids>, clientId: string, action: string, subject: string, at: string) =>
    writes.record({
      accountId: call.owner.accountId,
      clientId,
      actor: call.account.email,
      action,
      subject,
      at,
    });

  /** @throws Problem `rate-limited` with this detail */
  const charge = async (draw: Draw, detail: string, chargeId?: string): Promise<void> => {
    try {
      await throttle.take([draw], chargeId);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'rate-limited')) throw error;
      throw new Problem('rate-limited', detail, { headers: retryAfter(error.retryAfterMs ?? 0) });
    }
  };
  const chargeResent = (clientId: string, count: number): Promise<void> =>
    charge({ budget: RESENT_WEBHOOKS, owner: clientId, count }, tooManyResent(count));
  const chargeBytesOf =
    ({ owner }: Call<Ids>, clientId: string, chargeId?: string) =>
    (bytes: number): Promise<void> => {
      const budget = resentBytes(owner);
      return charge({ budget, owner: clientId, count: bytes }, tooManyBytesResent(budget.countMax), chargeId);
    };

  const bulkResends = new FairTaskQueue({
    atOnceMax: BULK_RESENDS_AT_ONCE_MAX,
    waitingMax: BULK_RESENDS_WAITING_MAX,
    refusal: 'too many resends are waiting',
  });
  /** Refunds the charges of webhooks that were not sent. */
  const resendFailed = async (
    call: Call<'resendFailed'>,
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
        chargeBytes: chargeBytesOf(call, clientId),
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
      const { clientId } = await ownApp(call);
      const { state, since, before, limit: countMax } = call.query;
      const sinceMs = since === undefined ? undefined : Date.parse(since);
      const page = await deliveries.page(clientId, { state, sinceMs, before, countMax });
      return {
        deliveries: page.deliveries.map(presentDeliverySummary),
        ...(page.next !== undefined && { next: page.next }),
      };
    },
    async readDelivery(call) {
      const view = await ownDelivery(call);
      const payload = await deps.results.read(view.requestId);
      return { ...presentDelivery(view), ...(payload !== undefined && { payload }) };
    },
    async resendDelivery(call) {
      const { requestId, clientId, resendCount } = await ownDelivery(call);
      await idempotency.run(
        requestOf('resendDelivery', call, [clientId, requestId]),
        // The stored plan keeps the name `chain`: a portal of the previous version may repeat the request.
        () => ({ chain: resendCount + 1, at: nowIso() }),
        async ({ chain, at }) => {
          await resends.resend(requestId, {
            resendCount: chain,
            // A repeated request is charged once.
            chargeBytes: chargeBytesOf(call, clientId, `resent/${requestId}/${call.idempotencyKey}/${at}`),
          });
          await record(call, clientId, 'webhook-resent', requestId, at);
        },
      );
      return { requestId };
    },
    async resendFailed(call) {
      const { clientId } = await ownApp(call);
      await throttle.take([{ budget: BULK_RESENDS, owner: clientId }]);
      const { since } = call.body;
      const { at } = await idempotency.plan(requestOf('resendFailed', call, [clientId]), () => ({
        at: nowIso(),
      }));
      const period = { sinceMs: Date.parse(since), untilMs: Date.parse(at) };
      const sent = await bulkResends.run(call.owner.accountId, () => resendFailed(call, clientId, period));
      // A repetition finds nothing left to send, so it returns the stored count of the first request.
      const counted = await idempotency.plan(requestOf('resendFailed sent', call, [clientId]), () => sent);
      await record(call, clientId, 'webhooks-resent', `${counted.count} since ${since}`, at);
      return counted;
    },
    async sendTestEvent(call) {
      const { clientId, accountId } = await ownApp(call);
      const judged = judgeCallbackUrl(call.body.callbackUrl, deps.callbackPolicy);
      if ('fault' in judged) throw invalid([{ pointer: '/callbackUrl', ...judged.fault }]);
      const { requestId } = await idempotency.run(
        requestOf('sendTestEvent', call, [clientId]),
        () => ({ requestId: `test_${randomBytes(ID_BYTES).toString('hex')}`, at: nowIso() }),
        async ({ requestId, at }) => {
          await throttle.take([{ budget: TEST_EVENTS, owner: clientId }], requestId);
          const event = testEvent({ requestId, clientId, accountId, callbackUrl: judged.href }, at);
          const { resultJson, retainUntil } = event;
          // Stored like a result, so that it can be resent like any other delivery.
          await deps.results.saveIfAbsent({ requestId, resultJson, retainUntil: Date.parse(retainUntil) });
          await deps.publishDelivery(event);
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

const tooManyBytesResent = (bytesMax: number): string =>
  `The webhooks that an app resends within 24 hours may have ${bytesMax} bytes together. Try again later.`;

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
  return {
    ...about,
    resultJson: JSON.stringify(event),
    acceptedAt: at,
    retainUntil: new Date(Date.parse(at) + TEST_EVENT_KEPT_MS).toISOString(),
    attemptCount: 0,
    deferralCount: 0,
    dueAt: at,
    resendCount: 0,
  };
}
