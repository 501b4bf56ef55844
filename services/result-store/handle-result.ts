import type { CheckCompleted } from '#shared/contracts/check-completed.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import { type Results, savingOf } from '#shared/redis/results.ts';

type Dependencies = {
  readonly results: Pick<Results, 'saveIfAbsent' | 'notify'>;
  readonly observe: (message: CheckCompleted, kind: 'first' | 'copy') => void;
};

/**
 * Saves the result, then notifies its waiters.
 *
 * The first stored result wins. The notice goes out for a copy too: after a crash between the two steps it is
 * the copy that must still wake the waiter.
 */
export function makeResultHandler({ results, observe }: Dependencies): Handler<CheckCompleted> {
  return async function handleResult(message) {
    const stored = await results.saveIfAbsent(savingOf(message));
    if (message.delivery.mode === 'sync')
      await results.notify(message.delivery.replyChannel, message.requestId);
    observe(message, stored === message.resultJson ? 'first' : 'copy');
  };
}
