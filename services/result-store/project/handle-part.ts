import type { BatchPartCompleted } from '#shared/contracts/batches/batch.ts';
import { batchWebhookOf } from '#shared/contracts/batches/batch-status.ts';
import { firstDelivery, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Stores a part of a batch; with the last one, hands the batch's webhook to the dispatcher.
 *
 * The first stored part wins. The webhook goes out for a copy of a part too, if the batch is
 * complete: after a crash between the two steps it is the copy that must still publish it. Each has
 * the same id and bytes, and the dispatcher claims the first.
 */
export function makePartHandler({ batches, kafka, metrics }: Dependencies): Handler<BatchPartCompleted> {
  return async function handlePart(part, { traceparent }) {
    const { isFirst, isComplete } = await batches.savePart(part);
    if (isComplete && part.delivery.mode === 'webhook') {
      const status = await batches.readStatus(part.requestId);
      // Nothing is left of a batch that completed more than a day after the end of its retention.
      if (status !== undefined)
        await kafka.publish(
          webhookRequested,
          firstDelivery({ ...part, ...part.delivery }, { resultJson: batchWebhookOf(status) }),
          { traceparent },
        );
    }
    if (isFirst) metrics.countEntries(part);
  };
}
