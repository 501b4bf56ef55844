import type { WebhookRetry } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { Batches } from '#shared/redis/batches.ts';
import type { ClientApps } from '#shared/redis/client-apps.ts';
import type { Deliveries } from '#shared/redis/deliveries.ts';
import type { DeliveryView } from '#shared/redis/delivery-view.ts';
import type { Results } from '#shared/redis/results.ts';
import { readWebhookBody } from './read-webhook-body.ts';

/** Deliveries read and published at once; the body of each may have a megabyte. */
const CHUNK = 25;

type Dependencies = {
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly deliveries: Pick<Deliveries, 'read' | 'failedSince'>;
  readonly results: Pick<Results, 'read'>;
  readonly batches: Pick<Batches, 'readStatus'>;
  /** Publishes to `webhook.requested.v1`. */
  readonly publish: (message: WebhookRetry) => Promise<void>;
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
 * const { resend } = makeResendWebhooks({ clientApps, deliveries, results, batches, now: clock.now,
 *   publish: (message) => kafka.publish(webhookRequested, message) });
 * await resend(requestId);
 */
export function makeResendWebhooks(deps: Dependencies): ResendWebhooks {
  const { clientApps, deliveries, publish, afterPublish, now } = deps;
  const prepare = async (requestId: string, resendCount?: number): Promise<WebhookRetry | undefined> => {
    const [view, resultJson] = await Promise.all([
      deliveries.read(requestId),
      readWebhookBody(deps, requestId),
    ]);
    if (view === undefined || resultJson === undefined) return undefined;
    const app = await clientApps.read(view.clientId);
    if (app === undefined) return undefined;
    const { accountId } = app;
    const count = resendCount ?? view.resendCount + 1;
    return resendOf({ ...view, accountId }, count, resultJson, new Date(now()).toISOString());
  };
  const send = async (message: WebhookRetry): Promise<void> => {
    await publish(message);
    await afterPublish?.(message.requestId, message.resendCount);
  };
  return {
    async resend(requestId, { resendCount, chargeBytes } = {}) {
      const message = await prepare(requestId, resendCount);
      if (message === undefined)
        throw new ServiceError('not-found', `there is no webhook of ${requestId}, or its result has expired`);
      await chargeBytes?.(bytesOf(message));
      await send(message);
      return { requestId };
    },
    async resendFailed(clientId, sinceMs, { untilMs, charge, chargeBytes } = {}) {
      const ids = await deliveries.failedSince(clientId, sinceMs, untilMs);
      if (ids.length > 0) await charge?.(ids.length);
      let count = 0;
      for (let i = 0; i < ids.length; i += CHUNK) {
        const prepared = await Promise.all(ids.slice(i, i + CHUNK).map((id) => prepare(id)));
        const messages = prepared.filter((message) => message !== undefined);
        const bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0);
        try {
          await chargeBytes?.(bytes);
        } catch (error) {
          if (count === 0) throw error;
          break;
        }
        await Promise.all(messages.map(send));
        count += messages.length;
      }
      return { count };
    },
  };
}

const bytesOf = ({ resultJson }: WebhookRetry): number => Buffer.byteLength(resultJson);

/** The record of a resend; it supersedes the delivery's earlier records once a dispatcher claims it. */
const resendOf = (
  view: DeliveryView & { readonly accountId: string },
  resendCount: number,
  resultJson: string,
  nowIso: string,
): WebhookRetry => ({
  requestId: view.requestId,
  clientId: view.clientId,
  accountId: view.accountId,
  callbackUrl: view.callbackUrl,
  resultJson,
  acceptedAt: view.acceptedAt ?? nowIso,
  retainUntil: view.retainUntil,
  attemptCount: 0,
  deferralCount: 0,
  dueAt: nowIso,
  resendCount,
});
