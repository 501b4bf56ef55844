import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import type { Handler } from '#shared/kafka/consumer/record.ts';
import { type Results, savingOf } from '#shared/stores/checks/results.ts';

type Dependencies = {
  readonly results: Pick<Results, 'saveIfAbsent'>;
  readonly observe: (message: CheckCompleted, kind: 'first' | 'copy') => void;
};

/** Saves the result, which wakes its waiters. The first stored result wins. */
export function makeResultHandler({ results, observe }: Dependencies): Handler<CheckCompleted> {
  return async function handleResult(message) {
    const stored = await results.saveIfAbsent(savingOf(message));
    observe(message, stored === message.resultJson ? 'first' : 'copy');
  };
}
