import type { WebhookRequested, WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import type { GiveUp, Handler } from '#shared/kafka/consumer/record.ts';
import type { DeliverWebhook } from './deliver-webhook.ts';

/** Makes the handler of retries, which are due when they arrive here. */
export function makeRetryHandler(deliver: DeliverWebhook): Handler<WebhookRetry> {
  return function handleRetry(delivery, record) {
    return deliver(delivery, record);
  };
}

/** Makes the handler of events, which bring their bodies, and of resends, whose bodies are stored. */
export function makeRequestedHandler(deliver: DeliverWebhook): Handler<WebhookRequested> {
  return function handleRequested({ resultJson, ...delivery }, record) {
    return deliver(delivery, record, resultJson);
  };
}

/** Makes the function that ends the delivery of a record that cannot be handled. */
export function makeRetryGiveUp(giveUp: DeliverWebhook): GiveUp<WebhookRetry> {
  return async function giveUpRetry({ message, record }) {
    if (message !== undefined) await giveUp(message, record);
  };
}
