import type { LoggedCheck } from '#shared/contracts/checks/check-log.ts';
import { type CheckRequested, LANES } from '#shared/contracts/checks/check-requested.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';
import { makeRecordReads, READ_TIMEOUT_MS, type RecordReads } from './record-reads.ts';

/**
 * Reads requests from Kafka by their positions: Redis keeps none of their rules.
 *
 * @throws ServiceError `overloaded` if too many reads wait, `broker-unavailable` if the record did
 *   not come within 10 s
 */
export function makeReadSentCheck(
  { readRecord }: Pick<KafkaConnection, 'readRecord'>,
  reads: RecordReads = makeRecordReads(),
) {
  /**
   * Reads the request of a logged check; undefined if Kafka no longer has it.
   *
   * @param owner the queue that the read waits in; by default the client app's
   */
  return async function readSentCheck(
    clientId: string,
    { requestId, mode, request }: LoggedCheck,
    owner = clientId,
  ): Promise<CheckRequested | undefined> {
    const topic = LANES[mode === 'sync' ? 'interactive' : 'bulk'];
    const record = await reads.run(owner, () =>
      readRecord({
        topic: topic.name,
        ...request,
        bytesMax: topic.messageBytesMax,
        timeoutMs: READ_TIMEOUT_MS,
      }),
    );
    if (!record) return undefined;
    const check = parseMessage(topic, record.value);
    // A topic that was created again has other records at the same positions.
    return check.requestId === requestId && check.clientId === clientId ? check : undefined;
  };
}
