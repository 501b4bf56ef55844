import { parseMessage } from '#shared/contracts/topic.ts';
import { type WebhookAttempted, webhookAttempted } from '#shared/contracts/webhooks/webhook.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/deliveries.ts';
import { READ_TIMEOUT_MS, type RecordReads } from '../checks/record-reads.ts';

/** How far the clocks of dispatcher and broker may differ. */
const CLOCK_ERROR_MS = 5_000;
/** How much later than its attempt a record may be written: it is repeated while the broker is
 * away. */
const WRITTEN_WITHIN_MS = 120_000;

/**
 * Reads answers from the log of attempts by key and time: Redis keeps none of them.
 *
 * @throws ServiceError `overloaded` if too many reads wait, `broker-unavailable` if the record did
 *   not come within 10 s
 */
export function makeReadReceiverAnswer(
  { findRecord }: Pick<KafkaConnection, 'findRecord'>,
  reads: RecordReads,
) {
  /** Reads what the receiver answered to an attempt: at most 4 KiB; nothing where it was empty, or
   * is no longer kept. */
  return async function readReceiverAnswer(
    { requestId, clientId }: Pick<DeliveryView, 'requestId' | 'clientId'>,
    {
      attempt,
      resendCount,
      at,
      durationMs,
    }: Pick<AttemptView, 'attempt' | 'resendCount' | 'at' | 'durationMs'>,
    owner: string,
  ): Promise<string | undefined> {
    const endedAtMs = Date.parse(at) + Math.floor(durationMs);
    const judge: Parameters<typeof findRecord>[0]['judge'] = (record) => {
      if (Number(record.timestamp) > endedAtMs + WRITTEN_WITHIN_MS) return 'none';
      if (record.key?.toString() !== requestId) return 'next';
      const found = parseMessage<WebhookAttempted>(webhookAttempted, record.value);
      return found.attempt === attempt && found.resendCount === resendCount && found.at === at
        ? 'wanted'
        : 'next';
    };
    const record = await reads.run(owner, () =>
      findRecord({
        topic: webhookAttempted.name,
        key: requestId,
        fromMs: endedAtMs - CLOCK_ERROR_MS,
        judge,
        bytesMax: webhookAttempted.messageBytesMax,
        timeoutMs: READ_TIMEOUT_MS,
      }),
    );
    if (!record) return undefined;
    const found = parseMessage<WebhookAttempted>(webhookAttempted, record.value);
    return found.clientId === clientId ? found.responseBody : undefined;
  };
}
