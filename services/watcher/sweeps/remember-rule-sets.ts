import { LRUCache } from 'lru-cache';
import { memoryOf, type RuleSet, ruleSetKey } from '#shared/contracts/rules/rule-set.ts';
import type { RuleSets } from '#shared/stores/rules/rule-sets.ts';

export const REMEMBERED_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads rule sets without parsing one again that has not changed: Redis is asked each time, and
 * sends the rule set only if its version is another. A rule set has up to 250 KB, and transfers and
 * sweeps read those of their watches many times a second. A cache that learns of changes by notices
 * would be too late here: a watch is processed because of a notice.
 *
 * @example
 * const ruleSets = rememberRuleSets(makeRuleSets(redis));
 * await ruleSets.read('app_1', 'holders');
 */
export function rememberRuleSets({ read }: Pick<RuleSets, 'read'>): Pick<RuleSets, 'read'> {
  const remembered = new LRUCache<string, RuleSet>({
    maxSize: REMEMBERED_BYTES_MAX,
    sizeCalculation: memoryOf,
  });
  return {
    async read(clientId, id) {
      const key = ruleSetKey(clientId, id);
      const known = remembered.get(key);
      const found = await read(clientId, id, known);
      if (found === undefined) remembered.delete(key);
      else if (found !== known) remembered.set(key, found);
      return found;
    },
  };
}
