import { type BodyRecord, evaluatedOf, type Results, savingOf } from '#shared/stores/checks/results.ts';

type Dependencies = {
  readonly results: Pick<Results, 'saveIfAbsent'>;
  /** Epoch ms, Redis's clock. */
  readonly now: () => number;
};

/**
 * Saves the body that a record brings; the first one wins. It is the only save of a polled check,
 * and wakes its waiters. The result of a sync check was saved by the evaluator, and a webhook's body
 * is saved by the dispatcher too: past its retention nothing is left to do for either here.
 */
export function makeResultHandler({ results, now }: Dependencies) {
  return async function handleResult(body: BodyRecord): Promise<void> {
    const isPolled = evaluatedOf(body)?.mode === 'poll';
    if (isPolled || Date.parse(body.retainUntil) > now()) await results.saveIfAbsent(savingOf(body));
  };
}
