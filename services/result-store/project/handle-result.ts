import { type BodyRecord, evaluatedOf, savingOf } from '#shared/stores/checks/results.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Saves the body that a record brings; the first one wins. It is the only save of a polled check,
 * and wakes its waiters. The result of a sync check was saved by the evaluator, and the body of a
 * webhook may have been by the dispatcher: they are saved only if they are not stored. Past their
 * retention nothing is left to do for either here.
 */
export function makeResultHandler({ results, now }: Dependencies) {
  return async function handleResult(body: BodyRecord): Promise<void> {
    const isPolled = evaluatedOf(body)?.mode === 'poll';
    if (!isPolled && Date.parse(body.retainUntil) <= now()) return;
    if (!isPolled && (await results.has(body.requestId))) return;
    await results.saveIfAbsent(savingOf(body));
  };
}
