import { setTimeout as delay } from 'node:timers/promises';
import { isRetriable } from '#shared/errors.ts';
import type { RecordContext } from '#shared/kafka/consumer/record.ts';

const RETRY_DELAY_MS = 250;
/** About five minutes of a broker or store that is away; then the record is held and its attempt made again. */
const TRIES_MAX = 1_200;

/**
 * Does what must follow an attempt, again while broker or store are away: failing instead would repeat the
 * attempt, and the receiver would get the message once more.
 *
 * @throws what `work` throws once it is not retriable, the tries are spent or `signal` is aborted
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
      await delay(RETRY_DELAY_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
