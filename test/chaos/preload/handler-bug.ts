// Preloaded into evaluators: one kind of message triggers a bug in the handler. Only a programmer
// can make this mistake, no sender can: production code has no such switch.
import { replaceSource } from './replace-source.ts';

replaceSource(
  '/services/evaluator/domain/plan-reads.ts',
  /export function makePlanner\([^)]*\): [^{]*\{/,
  `$& if (rules.some(({ roleId }) => roleId.startsWith('bug-'))) throw new TypeError('a bug, made by a test');`,
);
