// Loaded into evaluators before their own code: one kind of message meets a bug in the handler. It is the mistake that a
// programmer makes, not one that anybody could send: production code has no such switch.
import { replaceSource } from './replace-source.ts';

replaceSource(
  '/services/evaluator/domain/plan-reads.ts',
  /export function planReads\([^)]*\): [^{]*\{/,
  `$& if (rules.some(({ roleId }) => roleId.startsWith('bug-'))) throw new TypeError('a bug, made by a test');`,
);
