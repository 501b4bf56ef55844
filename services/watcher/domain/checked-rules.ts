import type { Watch } from '#shared/contracts/watch.ts';

/** The rules of a check: the rule set with its version, and the block tag unless it is `latest`: `vip@3`, `vip@3 safe`. */
export const checkedRules = (rules: string, blockTag: Watch['blockTag']): string =>
  blockTag === 'latest' ? rules : `${rules} ${blockTag}`;

/** Whether rules are an earlier version of other rules of the same rule set, under the same block tag. */
export function isEarlierVersion(rules: string, others: string): boolean {
  const [one, other] = [partsOf(rules), partsOf(others)];
  return one.id === other.id && one.blockTag === other.blockTag && one.version < other.version;
}

/** The block tag of a check's rules. */
export const blockTagOf = (rules: string): string => partsOf(rules).blockTag;

function partsOf(rules: string): { id: string; version: number; blockTag: string } {
  const [name = '', blockTag = 'latest'] = rules.split(' ');
  const [id = '', version] = name.split('@');
  return { id, version: Number(version), blockTag };
}
