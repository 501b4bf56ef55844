import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { WebhookRetry } from '#shared/contracts/webhook.ts';
import type { GiveUp, Handler } from '#shared/kafka/consumer/record.ts';
import { savingOf } from '#shared/redis/results.ts';
import type { DeliverWebhook } from './deliver-webhook.ts';

/**
 * Takes up the webhooks among the completed checks; the other modes pass.
 *
 * The result is saved before the first attempt, by the same save-if-absent as the result-store's: so no webhook
 * is sent before its result can be polled, and what is sent are the bytes that are stored.
 */
export function makeResultHandler(deliver: DeliverWebhook): Handler<CheckCompleted> {
  return async function handleResult(message, record) {
    const { delivery } = message;
    if (delivery.mode !== 'webhook') return;
    await deliver(firstDelivery(message, delivery.callbackUrl), record, savingOf(message));
  };
}

/** Ends the delivery of a result that could not be worked; the other modes have nothing to end. */
export function makeResultGiveUp(giveUp: DeliverWebhook): GiveUp<CheckCompleted> {
  return async function giveUpResult({ message, record }) {
    if (message?.delivery.mode !== 'webhook') return;
    await giveUp(firstDelivery(message, message.delivery.callbackUrl), record);
  };
}

const firstDelivery = (message: CheckCompleted, callbackUrl: string): WebhookRetry => ({
  requestId: message.requestId,
  clientId: message.clientId,
  callbackUrl,
  resultJson: message.resultJson,
  acceptedAt: message.acceptedAt,
  retainUntil: message.retainUntil,
  attemptCount: 0,
  deferralCount: 0,
  dueAt: message.acceptedAt,
  resendCount: 0,
});
