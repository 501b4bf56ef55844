import { type CheckCompleted, checkCompleted } from '#shared/contracts/checks/check-completed.ts';
import { isRefunded } from '#shared/contracts/checks/result.ts';
import { firstDelivery, webhookRequested } from '#shared/contracts/webhooks/webhook.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { persist } from '#shared/kafka/consumer/persist.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { type Results, savingOf } from '#shared/stores/checks/results.ts';
import type { ComposedCheck } from '../domain/compose-result.ts';

type Dependencies = {
  readonly results: Pick<Results, 'saveIfAbsent'>;
  readonly publish: KafkaConnection['publish'];
};

type CompletedCheck = ComposedCheck & Pick<CheckCompleted, 'startedAt' | 'request'>;

export type PublishResult = (
  completed: CompletedCheck,
  ruleCount: number,
  record: RecordContext,
) => Promise<void>;

/**
 * Publishes the result of a check to the one topic of its mode:
 *
 *   sync     save if absent, with the notice to the client ──► `check.completed.v1`, the saved bytes
 *   poll     ──► `check.completed.v1`
 *   webhook  ──► `webhook.requested.v1`: result and first delivery in one record
 *
 * The offset of the request is committed only afterwards, so a crash at any instant repeats the
 * check. Then the save returns the bytes of the first evaluation, which are what the client was
 * told, and these are published, never those of the second. While Redis is away the save alone is
 * repeated, and the record is parked.
 *
 * @throws ServiceError with a retriable code while the broker is unavailable
 */
export function makePublishResult({ results, publish }: Dependencies): PublishResult {
  const saveOrWait = (message: CheckCompleted, replyChannel: string, record: RecordContext) =>
    persist(async () => {
      try {
        return await results.saveIfAbsent({ ...savingOf(message), replyChannel });
      } catch (error) {
        record.park(() => undefined);
        throw error;
      }
    }, record);

  return async function publishResult({ delivery, ...completed }, ruleCount, record) {
    const { traceparent } = record;
    if (delivery.mode === 'webhook') {
      const { keyId, decided, chargedMonth, startedAt, request, resultJson } = completed;
      const check = { keyId, decided, chargedMonth, startedAt, request };
      const about = { ...completed, callbackUrl: delivery.callbackUrl };
      return publish(webhookRequested, firstDelivery(about, { resultJson, check }), { traceparent });
    }
    const message = { ...completed, mode: delivery.mode };
    if (delivery.mode === 'poll') return publish(checkCompleted, message, { traceparent });
    const resultJson = await saveOrWait(message, delivery.replyChannel, record);
    const decided =
      resultJson === message.resultJson ? message.decided : !isRefunded(JSON.parse(resultJson), ruleCount);
    await publish(checkCompleted, { ...message, resultJson, decided }, { traceparent });
  };
}
