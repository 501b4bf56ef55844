import { type RuleSet, rulesNameOf } from '#shared/contracts/rules/rule-set.ts';
import type { Watch } from '#shared/contracts/watches/watch.ts';

/** The rules of a watch's checks: the rule set with its version, and the block tag unless it is `latest`: `vip@3`, `vip@3 safe`. */
export const checkedRules = (ruleSet: RuleSet, { blockTag }: Pick<Watch, 'blockTag'>): string =>
  blockTag === 'latest' ? rulesNameOf(ruleSet) : `${rulesNameOf(ruleSet)} ${blockTag}`;

/** The block tag of a check's rules. */
export const blockTagOf = (rules: string): string => rules.split(' ')[1] ?? 'latest';
