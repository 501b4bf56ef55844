import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import {
  firstDelivery,
  type WebhookRequested,
  type WebhookRetry,
} from '#shared/contracts/webhooks/webhook.ts';
import type { GiveUp, Handler } from '#shared/kafka/consumer/record.ts';
import { savingOf } from '#shared/stores/checks/results.ts';
import type { DeliverWebhook } from './deliver-webhook.ts';

type Handlers<M> = { readonly handle: Handler<M>; readonly giveUp: GiveUp<M> };

/** Makes the handlers of every topic that brings deliveries; `giveUp` ends the delivery of a record
 * that cannot be handled. */
export function makeHandlers(deliver: DeliverWebhook, giveUp: DeliverWebhook) {
  /**
   * Completed checks in webhook mode; the other modes have no delivery. The result is saved before
   * the first attempt, with the same save-if-absent as in the result-store, so that the webhook
   * carries the stored bytes.
   */
  const results: Handlers<CheckCompleted> = {
    async handle(message, record) {
      const { delivery } = message;
      if (delivery.mode === 'webhook')
        await deliver(firstDelivery({ ...message, ...delivery }), record, savingOf(message));
    },
    async giveUp({ message, record }) {
      if (message?.delivery.mode === 'webhook')
        await giveUp(firstDelivery({ ...message, ...message.delivery }), record);
    },
  };
  /** Retries and resends, whose bodies are stored, and events, which bring theirs. */
  const deliveries: Handlers<WebhookRetry | WebhookRequested> = {
    handle({ resultJson, ...delivery }: WebhookRequested, record) {
      return deliver(delivery, record, resultJson);
    },
    async giveUp({ message, record }) {
      if (message !== undefined) await giveUp(message, record);
    },
  };
  return { results, deliveries };
}
