import { type Condition, isTokenRule, simpleRulesOf, type TokenCondition } from './rule.ts';
import { parseTokenIds } from './token-ids.ts';

/** Most reads a check may plan after deduplication: one a balance or an owner, `decimals()` not counted. */
export const READS_MAX = { interactive: 2_000, bulk: 10_000 } as const;

/**
 * The reads that one rule needs, each by a key that is equal exactly where the read is the same one.
 * The account is the same in all rules of a check, so it is no part of the key.
 */
export function readKeysOf(rule: TokenCondition): string[] {
  const contract = rule.contractAddress?.toLowerCase() ?? '';
  const ids = rule.tokenId === undefined ? undefined : parseTokenIds(rule.tokenId);
  if (rule.type === 'NATIVE') return [`${rule.chainId}/native`];
  if (ids?.ok && rule.type === 'ERC721')
    return ids.ids.map((id) => `${rule.chainId}/${contract}/owner/${id}`);
  if (ids?.ok && rule.type === 'ERC1155')
    return ids.ids.map((id) => `${rule.chainId}/${contract}/balance/${id}`);
  return [`${rule.chainId}/${contract}/balance`];
}

/** How many reads the rules need once equal ones are counted once. */
export const countReads = (rules: readonly Condition[]): number =>
  new Set(rules.flatMap(simpleRulesOf).filter(isTokenRule).flatMap(readKeysOf)).size;
