import type { WebhookRequested } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import type { DeliveryView } from '#shared/redis/delivery-view.ts';
import type { WebhookBodies } from '#shared/redis/webhook-bodies.ts';

/** Deliveries read and published at once. */
const CHUNK = 25;

type Dependencies = {
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly deliveries: Pick<Deliveries, 'read' | 'failedSince'>;
  readonly webhookBodies: Pick<WebhookBodies, 'keep'>;
  /** Publishes to `webhook.requested.v1`. */
  readonly publish: (message: WebhookRequested) => Promise<void>;
  /** Awaited after each publish; by default nothing is awaited. */
  readonly afterPublish?: ((requestId: string, resendCount: number) => Promise<void>) | undefined;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Called with the bytes of some bodies before they are sent; if it throws, neither these nor later ones are sent. */
type ChargeBytes = (bytes: number) => Promise<void>;

/** Sends webhooks again on request: the same id, the same bytes, the whole schedule again. */
export type ResendWebhooks = {
  /**
   * @param options.resendCount the number of this resend, so that a repeated request sends once; default: the next
   * @throws ServiceError `not-found` for an unknown delivery, or one whose result has expired
   */
  readonly resend: (
    requestId: string,
    options?: { readonly resendCount?: number; readonly chargeBytes?: ChargeBytes },
  ) => Promise<{ requestId: string }>;
  /**
   * Sends all of a client app's deliveries again that were exhausted or stopped at `sinceMs` or later, and not
   * after `untilMs`. Deliveries with an expired result are left out. If the budget of bytes ends after some were sent, the
   * others stay failed.
   *
   * @param options.charge called with the number of failed deliveries before the first is sent; if it throws, none is sent
   */
  readonly resendFailed: (
    clientId: string,
    sinceMs: number,
    options?: {
      readonly untilMs?: number;
      readonly charge?: (count: number) => Promise<void>;
      readonly chargeBytes?: ChargeBytes;
    },
  ) => Promise<{ count: number }>;
};

/**
 * @example
 * const { resend } = makeResendWebhooks({ clientApps, deliveries, webhookBodies, now: clock.now,
 *   publish: (message) => kafka.publish(webhookRequested, message) });
 * await resend(requestId);
 */
export function makeResendWebhooks(deps: Dependencies): ResendWebhooks {
  const { clientApps, deliveries, publish, afterPublish, now } = deps;
  const prepare = async (requestId: string, resendCount?: number): Promise<Resend | undefined> => {
    const view = await deliveries.read(requestId);
    if (view === undefined) return undefined;
    // From now on, because the record of the resend does not bring the body.
    const bytes = await deps.webhookBodies.keep(view, now());
    if (bytes === 0) return undefined;
    const app = await clientApps.read(view.clientId);
    if (app === undefined) return undefined;
    const { accountId } = app;
    const count = resendCount ?? view.resendCount + 1;
    return { message: resendOf({ ...view, accountId }, count, new Date(now()).toISOString()), bytes };
  };
  const send = async ({ message }: Resend): Promise<void> => {
    await publish(message);
    await afterPublish?.(message.requestId, message.resendCount);
  };
  return {
    async resend(requestId, { resendCount, chargeBytes } = {}) {
      const prepared = await prepare(requestId, resendCount);
      if (prepared === undefined)
        throw new ServiceError('not-found', `there is no webhook of ${requestId}, or its result has expired`);
      await chargeBytes?.(prepared.bytes);
      await send(prepared);
      return { requestId };
    },
    async resendFailed(clientId, sinceMs, { untilMs, charge, chargeBytes } = {}) {
      const ids = await deliveries.failedSince(clientId, sinceMs, untilMs);
      if (ids.length > 0) await charge?.(ids.length);
      let count = 0;
      for (let i = 0; i < ids.length; i += CHUNK) {
        const prepared = await Promise.all(ids.slice(i, i + CHUNK).map((id) => prepare(id)));
        const resends = prepared.filter((resend) => resend !== undefined);
        try {
          await chargeBytes?.(resends.reduce((sum, { bytes }) => sum + bytes, 0));
        } catch (error) {
          if (count === 0) throw error;
          break;
        }
        await Promise.all(resends.map(send));
        count += resends.length;
      }
      return { count };
    },
  };
}

/** A resend, and the bytes of its body. */
type Resend = { readonly message: WebhookRequested; readonly bytes: number };

/** The record of a resend, which brings no body; it supersedes the delivery's earlier records once a dispatcher claims it. */
const resendOf = (
  view: DeliveryView & { readonly accountId: string },
  resendCount: number,
  nowIso: string,
): WebhookRequested => ({
  requestId: view.requestId,
  clientId: view.clientId,
  accountId: view.accountId,
  callbackUrl: view.callbackUrl,
  acceptedAt: view.acceptedAt ?? nowIso,
  retainUntil: view.retainUntil,
  attemptCount: 0,
  deferralCount: 0,
  dueAt: nowIso,
  resendCount,
});
