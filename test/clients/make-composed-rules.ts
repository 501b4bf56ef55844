import type { Condition, Rule } from '#shared/contracts/rules/rule.ts';
import { makeRandom } from '../support/random.ts';

const TREES_PER_CASE = 4;
const DEPTH_MAX = 4;
const RULES_INSIDE_MAX = 4;
const TYPES = ['ALL', 'ANY', 'NONE', 'AT_LEAST'] as const;

/** Random trees of a check's own rules, readable and unreadable; the same trees on every run. */
export function composedRules(rules: readonly Condition[], seed: number): Rule[] {
  const { below } = makeRandom(seed);
  const inside = rules.map((rule) => {
    const { roleId: _, ...condition } = rule as Rule;
    return condition as Condition;
  });
  const leaf = () => inside[below(inside.length)] as Condition;
  const tree = (depth: number): Condition => {
    const type = TYPES[below(TYPES.length)] ?? 'ALL';
    const count = 1 + below(RULES_INSIDE_MAX);
    const parts = Array.from({ length: count }, () =>
      depth < DEPTH_MAX && below(3) === 0 ? tree(depth + 1) : leaf(),
    );
    return { type, rules: parts, ...(type === 'AT_LEAST' ? { atLeast: 1 + below(count) } : {}) };
  };
  return Array.from({ length: TREES_PER_CASE }, () => ({ ...tree(1), roleId: '' }) as Rule);
}
