// Loaded into evaluators before their own code: one kind of message meets a bug in the handler. It is the mistake that a
// programmer makes, not one that anybody could send: production code has no such switch.
import { registerHooks } from 'node:module';

const PLAN = '/services/evaluator/domain/plan-reads.ts';
const ANCHOR = /export function planReads\([^)]*\): [^{]*\{/;
const BUG = `if (rules.some(({ roleId }) => roleId.startsWith('bug-'))) throw new TypeError('a bug, made by a test');`;

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.endsWith(PLAN)) return loaded;
    const text = String(loaded.source);
    if (!ANCHOR.test(text)) throw new Error('plan-reads.ts has changed: the bug has no place');
    return { ...loaded, source: text.replace(ANCHOR, (head) => `${head} ${BUG}`) };
  },
});
