import { type BodyRecord, evaluatedOf, savingOf } from '#shared/stores/checks/results.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Saves the body that a record brings; the first one wins. It is the only save of a polled check,
 * and wakes its waiters. A webhook's body is saved by the dispatcher too, and the result of a sync
 * check was saved by the evaluator: it is saved again only if Redis has lost it. Past their
 * retention nothing is left to do for either here.
 */
export function makeResultHandler({ results, now }: Dependencies) {
  return async function handleResult(body: BodyRecord): Promise<void> {
    const mode = evaluatedOf(body)?.mode;
    if (mode !== 'poll' && Date.parse(body.retainUntil) <= now()) return;
    if (mode === 'sync' && (await results.has(body.requestId))) return;
    await results.saveIfAbsent(savingOf(body));
  };
}
