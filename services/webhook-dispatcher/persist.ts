import { isRetriable } from '#shared/errors.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';
import { pause } from '#shared/wait-for.ts';

const RETRY_DELAY_MS = 250;
/** About five minutes of unavailability. After that the record is read again and the attempt
 * repeated. */
const TRIES_MAX = 1_200;

/**
 * Does the work that must follow an attempt, and repeats it while Kafka or Redis is unavailable.
 * Failing at once would repeat the attempt, and the receiver would get the message again.
 *
 * @throws the error of `work` if it is not retriable, the last try has failed or `signal` is
 *   aborted
 *
 * @example
 * await persist(() => publish(message), record);
 */
export async function persist(
  work: () => Promise<void>,
  { signal, alive }: Pick<RecordContext, 'signal' | 'alive'>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isRetriable(error) || tries >= TRIES_MAX || signal.aborted) throw error;
      alive();
      await pause(RETRY_DELAY_MS, signal);
    }
  }
}
