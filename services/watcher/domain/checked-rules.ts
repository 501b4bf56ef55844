import type { Watch } from '#shared/contracts/watch.ts';

/** The rules of a check: the rule set with its version, and the block tag unless it is `latest`: `vip@3`, `vip@3 safe`. */
export const checkedRules = (rules: string, blockTag: Watch['blockTag']): string =>
  blockTag === 'latest' ? rules : `${rules} ${blockTag}`;

/** The block tag of a check's rules. */
export const blockTagOf = (rules: string): string => rules.split(' ')[1] ?? 'latest';
