import { firstDelivery, type WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import type { ClientApps } from '#shared/stores/apps/client-apps.ts';
import type { Deliveries } from '#shared/stores/webhooks/deliveries.ts';
import type { WebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';

/** Deliveries read and published at once. */
const CHUNK = 25;

type Dependencies = {
  readonly clientApps: Pick<ClientApps, 'read'>;
  readonly deliveries: Pick<Deliveries, 'read' | 'failedSince'>;
  readonly webhookBodies: Pick<WebhookBodies, 'keep'>;
  /** Publishes to `webhook.requested.v1`. */
  readonly publish: (message: WebhookRetry) => Promise<void>;
  /** Called with the bytes of each body that a resend keeps longer. */
  readonly countBytes: (clientId: string, bytes: number) => void;
  /** Awaited after each publish; by default nothing is awaited. */
  readonly afterPublish?: ((requestId: string, resendCount: number) => Promise<void>) | undefined;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Called before the bodies of some webhooks are kept; if it throws, neither these nor later ones
 * are sent. */
type RequireRoom = () => Promise<void>;
type FailedOptions = {
  readonly untilMs?: number;
  readonly charge?: (count: number) => Promise<void>;
  readonly requireRoom?: RequireRoom;
};

/** Sends webhooks again on request: the same id, the same bytes, the whole schedule again. */
export function makeResendWebhooks(deps: Dependencies) {
  const { clientApps, deliveries, publish, afterPublish, now } = deps;
  const prepare = async (requestId: string, resendCount?: number): Promise<WebhookRetry | undefined> => {
    const view = await deliveries.read(requestId);
    const app = view && (await clientApps.read(view.clientId));
    if (view === undefined || app === undefined) return undefined;
    // From now on, because the record of the resend does not bring the body.
    const bytes = await deps.webhookBodies.keep(view, now());
    if (bytes === 0) return undefined;
    deps.countBytes(view.clientId, bytes);
    const dueAt = new Date(now()).toISOString();
    return firstDelivery(
      { ...view, accountId: app.accountId },
      { resendCount: resendCount ?? view.resendCount + 1, dueAt },
    );
  };
  const send = async (message: WebhookRetry): Promise<void> => {
    await publish(message);
    await afterPublish?.(message.requestId, message.resendCount);
  };
  return {
    /**
     * @param options.resendCount the number of this resend, so that a repeated request sends once;
     *   default: the next
     * @throws ServiceError `not-found` for an unknown delivery, or one whose result has expired
     */
    async resend(
      requestId: string,
      {
        resendCount,
        requireRoom,
      }: { readonly resendCount?: number; readonly requireRoom?: RequireRoom } = {},
    ): Promise<{ requestId: string }> {
      await requireRoom?.();
      const message = await prepare(requestId, resendCount);
      if (message === undefined)
        throw new ServiceError('not-found', `there is no webhook of ${requestId}, or its result has expired`);
      await send(message);
      return { requestId };
    },
    /**
     * Sends all of a client app's deliveries again that were exhausted or stopped at `sinceMs` or
     * later, and not after `untilMs`. Deliveries with an expired result are left out. If there is
     * no room left after some were sent, the others stay failed.
     *
     * @param options.charge called with the number of failed deliveries before the first is sent;
     *   if it throws, none is sent
     */
    async resendFailed(
      clientId: string,
      sinceMs: number,
      { untilMs, charge, requireRoom }: FailedOptions = {},
    ): Promise<{ count: number }> {
      const ids = await deliveries.failedSince(clientId, sinceMs, untilMs);
      if (ids.length > 0) await charge?.(ids.length);
      let count = 0;
      for (let i = 0; i < ids.length; i += CHUNK) {
        try {
          await requireRoom?.();
        } catch (error) {
          if (count === 0) throw error;
          break;
        }
        const prepared = await Promise.all(ids.slice(i, i + CHUNK).map((id) => prepare(id)));
        const messages = prepared.filter((message) => message !== undefined);
        await Promise.all(messages.map(send));
        count += messages.length;
      }
      return { count };
    },
  };
}

export type ResendWebhooks = ReturnType<typeof makeResendWebhooks>;
