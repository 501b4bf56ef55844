import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import type { WebhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import type { ViewAccess } from '#shared/redis/view.ts';
import type { WebhookBodies } from '#shared/stores/webhooks/webhook-bodies.ts';

type Dependencies = {
  readonly webhookBodies: Pick<WebhookBodies, 'restore' | 'restoreOpen'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/** Stores the body of an event again, where the portal and its delivery find it. A resend brings none. */
export async function restoreBody(
  { webhookBodies, now }: Dependencies,
  { resultJson, ...about }: WebhookRequested,
  token: ViewAccess,
): Promise<boolean> {
  return resultJson !== undefined && webhookBodies.restore({ ...about, resultJson }, now(), token);
}

/** Keeps the result of a check for its webhook beyond its retention. */
export async function restoreBodyOfCheck(
  { webhookBodies, now }: Dependencies,
  message: CheckCompleted,
  token: ViewAccess,
): Promise<boolean> {
  return message.delivery.mode === 'webhook' && webhookBodies.restoreOpen(message, now(), token);
}
