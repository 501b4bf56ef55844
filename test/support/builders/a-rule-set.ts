import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import { digestOfRules } from '#shared/contracts/rules/rules-digest.ts';

/** The document of a rule set of one rule. */
export function aRuleSet(clientId: string, id: string, changes: Partial<RuleSet> = {}): RuleSet {
  const rules = [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }];
  return {
    clientId,
    id,
    version: 1,
    rulesVersion: 1,
    digest: digestOfRules(rules, 'omit'),
    rules,
    onUndetermined: 'omit',
    updatedAt: '2026-11-22T10:00:00.000Z',
    ...changes,
  };
}
