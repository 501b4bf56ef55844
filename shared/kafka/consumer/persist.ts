import { retry } from '#shared/wait-for.ts';
import type { RecordContext } from './record.ts';

const RETRY_DELAY_MS = 250;
/** About five minutes of unavailability. After that the whole record is repeated. */
const TRIES_MAX = 1_200;

/**
 * Does the work that must follow an effect, and repeats it while Kafka or Redis is unavailable.
 * Failing at once would repeat the whole record: a receiver would get its message again, a check
 * would be evaluated again.
 *
 * @throws the error of `work` if it is not retriable, the last try has failed or `signal` is
 *   aborted
 */
export const persist = <T>(
  work: () => Promise<T>,
  { signal, alive }: Pick<RecordContext, 'signal' | 'alive'>,
): Promise<T> => retry(work, { delayMs: RETRY_DELAY_MS, triesMax: TRIES_MAX, signal, onRetry: alive });
