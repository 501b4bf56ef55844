import type { RuleSet } from '#shared/contracts/rules/rule-set.ts';
import type { Watch } from '#shared/contracts/watches/watch.ts';

/** Behind `sha-256=:`: 96 bits of the digest, which tell the rules of one client app apart. */
const DIGEST = { from: 9, to: 25 } as const;

/** The rules that a check is made by, and its block tag: `vip#<digest> safe`. */
export const rulesStampOf = (
  { id, digest }: Pick<RuleSet, 'id' | 'digest'>,
  { blockTag }: Pick<Watch, 'blockTag'>,
): string => `${id}#${digest.slice(DIGEST.from, DIGEST.to)} ${blockTag}`;

/** The block tag of a stamp. */
export const blockTagOf = (rules: string | undefined): string | undefined => rules?.split(' ')[1];
