import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import { type CheckRequested, LANES } from '#shared/contracts/checks/check-requested.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { type WebhookAttempted, webhookAttempted } from '#shared/contracts/webhooks/webhook.ts';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import type { AttemptView, DeliveryView } from '#shared/stores/webhooks/deliveries.ts';

/** Each read is a consumer of its own, with the memory of one record. */
const READS_AT_ONCE_MAX = 2;
const READS_WAITING_MAX = 16;
/** For one read, from its turn on. */
const READ_TIMEOUT_MS = 10_000;

/** How far the clocks of dispatcher and broker may differ. */
const CLOCK_ERROR_MS = 5_000;
/** How much later than its attempt a record may be written: it is repeated while the broker is
 * away. */
const WRITTEN_WITHIN_MS = 120_000;

/**
 * Reads single records from Kafka of which Redis keeps only the position, or the time. Their owners
 * wait in turn.
 *
 * @throws ServiceError `overloaded` if too many reads wait, `broker-unavailable` if the record did
 *   not come within 10 s
 */
export function makeReadRecords({ readRecord }: Pick<KafkaConnection, 'readRecord'>) {
  const reads = new FairTaskQueue({
    atOnceMax: READS_AT_ONCE_MAX,
    waitingMax: READS_WAITING_MAX,
    refusal: 'too many records are being read from the broker',
  });
  return {
    /**
     * Reads the request of a logged check; undefined if Kafka no longer has it.
     *
     * @param owner the queue that the read waits in; by default the client app's
     */
    async readSentCheck(
      clientId: string,
      { requestId, mode, request }: LoggedCheck,
      owner = clientId,
    ): Promise<CheckRequested | undefined> {
      const topic = LANES[mode === 'sync' ? 'interactive' : 'bulk'];
      const bounds = { bytesMax: topic.messageBytesMax, timeoutMs: READ_TIMEOUT_MS };
      const record = await reads.run(owner, () =>
        readRecord({ topic: topic.name, place: request, ...bounds }),
      );
      if (!record) return undefined;
      const check = parseMessage(topic, record.value);
      // A topic that was created again has other records at the same positions.
      return check.requestId === requestId && check.clientId === clientId ? check : undefined;
    },
    /** Reads what the receiver answered to an attempt: at most 4 KiB; nothing where it was empty, or
     * is no longer kept. */
    async readReceiverAnswer(
      { requestId, clientId }: Pick<DeliveryView, 'requestId' | 'clientId'>,
      sent: Pick<AttemptView, 'attempt' | 'resendCount' | 'at' | 'durationMs'>,
      owner: string,
    ): Promise<string | undefined> {
      const endedAtMs = Date.parse(sent.at) + Math.floor(sent.durationMs);
      const parse = (value: Buffer | null) => parseMessage<WebhookAttempted>(webhookAttempted, value);
      const judge: Parameters<typeof readRecord>[0]['judge'] = ({ timestamp, key, value }) => {
        if (Number(timestamp) > endedAtMs + WRITTEN_WITHIN_MS) return 'none';
        if (key?.toString() !== requestId) return 'next';
        const { attempt, resendCount, at } = parse(value);
        const isSent = attempt === sent.attempt && resendCount === sent.resendCount && at === sent.at;
        return isSent ? 'wanted' : 'next';
      };
      const record = await reads.run(owner, () =>
        readRecord({
          topic: webhookAttempted.name,
          place: { key: requestId, fromMs: endedAtMs - CLOCK_ERROR_MS },
          judge,
          bytesMax: webhookAttempted.messageBytesMax,
          timeoutMs: READ_TIMEOUT_MS,
        }),
      );
      const found = record && parse(record.value);
      return found?.clientId === clientId ? found.responseBody : undefined;
    },
  };
}
