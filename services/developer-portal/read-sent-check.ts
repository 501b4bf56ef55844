import type { LoggedCheck } from '#shared/contracts/check-log.ts';
import { type CheckRequested, LANES } from '#shared/contracts/check-requested.ts';
import { parseMessage } from '#shared/contracts/topic.ts';
import { FairTaskQueue } from '#shared/fair-task-queue.ts';
import type { KafkaConnection } from '#shared/kafka/connect.ts';

/** Each read is a consumer of its own, with the memory of one record. */
const READS_AT_ONCE_MAX = 2;
const READS_WAITING_MAX = 16;
const READ_TIMEOUT_MS = 10_000;

/**
 * Reads the request of a logged check; undefined if Kafka no longer has it, or if its position is not known.
 *
 * @param owner the queue that the read waits in; by default the client app's
 */
export type ReadSentCheck = (
  clientId: string,
  check: LoggedCheck,
  owner?: string,
) => Promise<CheckRequested | undefined>;

/**
 * Reads requests from Kafka by their positions: Redis keeps none of their rules. A bounded number at a time, with a
 * fair queue per owner.
 *
 * @throws ServiceError `overloaded` if too many reads wait, `broker-unavailable` if the record did not come within 10 s
 */
export function makeReadSentCheck({ readRecord }: Pick<KafkaConnection, 'readRecord'>): ReadSentCheck {
  const queue = new FairTaskQueue({
    atOnceMax: READS_AT_ONCE_MAX,
    waitingMax: READS_WAITING_MAX,
    refusal: 'too many requests are being read from the broker',
  });
  return async function readSentCheck(clientId, { requestId, mode, request }, owner = clientId) {
    if (request === undefined) return undefined;
    const topic = LANES[mode === 'sync' ? 'interactive' : 'bulk'];
    const record = await queue.run(owner, () =>
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
