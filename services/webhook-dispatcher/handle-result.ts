import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import type { WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import type { GiveUp, Handler } from '#shared/kafka/consumer/record.ts';
import { savingOf } from '#shared/stores/checks/results.ts';
import type { DeliverWebhook } from './deliver-webhook.ts';

/**
 * Makes the handler of completed checks: it delivers those in webhook mode and skips the other modes.
 *
 * The result is saved before the first attempt, with the same save-if-absent as in the result-store. So a result can
 * be polled before its webhook is sent, and the webhook carries the stored bytes.
 */
export function makeResultHandler(deliver: DeliverWebhook): Handler<CheckCompleted> {
  return async function handleResult(message, record) {
    const { delivery } = message;
    if (delivery.mode !== 'webhook') return;
    await deliver(firstDelivery(message, delivery.callbackUrl), record, savingOf(message));
  };
}

/** Makes the function that ends the delivery of a result that cannot be handled; other modes have no delivery. */
export function makeResultGiveUp(giveUp: DeliverWebhook): GiveUp<CheckCompleted> {
  return async function giveUpResult({ message, record }) {
    if (message?.delivery.mode !== 'webhook') return;
    await giveUp(firstDelivery(message, message.delivery.callbackUrl), record);
  };
}

const firstDelivery = (message: CheckCompleted, callbackUrl: string): WebhookRetry => ({
  requestId: message.requestId,
  clientId: message.clientId,
  accountId: message.accountId,
  callbackUrl,
  acceptedAt: message.acceptedAt,
  retainUntil: message.retainUntil,
  attemptCount: 0,
  deferralCount: 0,
  dueAt: message.acceptedAt,
  resendCount: 0,
});
