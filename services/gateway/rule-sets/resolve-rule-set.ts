import { RULE_SET_ID, type RuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { RuleSetCache } from './cache-rule-sets.ts';

/** Finds the rule set that a body names by `ruleSet`; nothing if it names none, or if the named one does not exist. */
export type ResolveRuleSet = (clientId: string, body: unknown) => Promise<RuleSet | undefined>;

/**
 * A check is resolved to the version of its rule set that is there when the check is accepted.
 *
 * @example
 * await makeResolveRuleSet(ruleSetCache)('app_1', { account: '0x…', ruleSet: 'holders' });
 */
export function makeResolveRuleSet({ read }: Pick<RuleSetCache, 'read'>): ResolveRuleSet {
  return async function resolveRuleSet(clientId, body) {
    const id = (body as { readonly ruleSet?: unknown } | null)?.ruleSet;
    // Other texts are ids of no rule set: they are not looked up.
    if (typeof id !== 'string' || !RULE_SET_ID.test(id)) return undefined;
    return read(clientId, id);
  };
}
