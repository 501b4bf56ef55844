import type { WebhookRetry } from '#shared/contracts/webhook.ts';
import type { GiveUp, Handler } from '#shared/kafka/consumer/record.ts';
import type { DeliverWebhook } from './deliver-webhook.ts';

/**
 * Works a record of a retry tier, when it is due, or of the resends, at once: it holds all an attempt needs but
 * the secret, so it goes straight to the common road.
 */
export function makeRetryHandler(deliver: DeliverWebhook): Handler<WebhookRetry> {
  return function handleRetry(delivery, record) {
    return deliver(delivery, record);
  };
}

/** Ends the delivery of a record that could not be worked. */
export function makeRetryGiveUp(giveUp: DeliverWebhook): GiveUp<WebhookRetry> {
  return async function giveUpRetry({ message, record }) {
    if (message !== undefined) await giveUp(message, record);
  };
}
