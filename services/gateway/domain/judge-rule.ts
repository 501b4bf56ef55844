import { parseTokenIds, TOKEN_IDS_MAX } from '#shared/contracts/token-ids.ts';
import { compareAmounts, hasFraction, isZeroAmount } from './amount.ts';

/** The members of a rule that are well-formed by themselves; one that is not is absent here and in `present`. */
export type RuleParts = {
  readonly type?: string | undefined;
  readonly chainId?: number | undefined;
  readonly contractAddress?: string | undefined;
  readonly minToken?: string | undefined;
  readonly maxToken?: string | undefined;
  readonly tokenId?: string | undefined;
};

/** A fault in a member of the rule, by the member's name. */
export type RuleFaultFound = { readonly member: string; readonly code: string; readonly detail: string };

const TOKEN_ID_DETAIL = {
  grammar: 'Ids and ranges, separated by commas, without spaces: 1,2,42-69.',
  reversed: 'The range ends before it begins.',
  'too-large': 'An id must be below 2^256.',
  'too-many': `At most ${TOKEN_IDS_MAX} ids, ranges expanded.`,
} as const;

const isNft = (type: string): boolean => type === 'ERC721' || type === 'ERC1155';

/**
 * Judges how the members of a rule go together.
 *
 * @param parts the well-formed members.
 * @param present the names of all members that the client sent, well-formed or not.
 * @param isChainKnown whether the operator configured a chain.
 * @example
 * judgeRule({ type: 'NATIVE', chainId: 1, contractAddress: '0x…' }, new Set(['contractAddress']), () => true);
 * // [{ member: 'contractAddress', code: 'not-allowed', detail: '…' }]
 */
export function judgeRule(
  parts: RuleParts,
  present: ReadonlySet<string>,
  isChainKnown: (chainId: number) => boolean,
): RuleFaultFound[] {
  const faults: RuleFaultFound[] = [];
  const add = (member: string, code: string, detail: string) => faults.push({ member, code, detail });
  if (parts.chainId !== undefined && !isChainKnown(parts.chainId))
    add('chainId', 'chain-unsupported', 'This chain is not configured here.');
  if (parts.type !== undefined) judgeByType(parts.type, present, add);
  judgeAmounts(parts, present, add);
  judgeTokenId(parts.tokenId, add);
  return faults;
}

type Add = (member: string, code: string, detail: string) => void;

function judgeByType(type: string, present: ReadonlySet<string>, add: Add): void {
  if (type === 'NATIVE' && present.has('contractAddress'))
    add('contractAddress', 'not-allowed', 'A native balance has no contract.');
  if (type !== 'NATIVE' && !present.has('contractAddress'))
    add('contractAddress', 'required', `Required for ${type}.`);
  if (!isNft(type) && present.has('tokenId')) add('tokenId', 'not-allowed', `${type} has no token ids.`);
  if (type === 'ERC1155' && !present.has('tokenId')) add('tokenId', 'required', 'Required for ERC1155.');
}

function judgeAmounts({ type, minToken, maxToken }: RuleParts, present: ReadonlySet<string>, add: Add): void {
  if (type !== undefined && isNft(type)) {
    if (minToken !== undefined && hasFraction(minToken))
      add('minToken', 'fraction', `${type} counts whole tokens.`);
    if (maxToken !== undefined && hasFraction(maxToken))
      add('maxToken', 'fraction', `${type} counts whole tokens.`);
  }
  if (minToken !== undefined && isZeroAmount(minToken) && !present.has('maxToken'))
    add('minToken', 'min-token-zero', 'A minimum of zero without a maximum would always grant.');
  const least = present.has('minToken') ? minToken : '1';
  if (least !== undefined && maxToken !== undefined && compareAmounts(maxToken, least) < 0)
    add('maxToken', 'out-of-range', 'maxToken is below minToken.');
}

function judgeTokenId(tokenId: string | undefined, add: Add): void {
  if (tokenId === undefined) return;
  const ids = parseTokenIds(tokenId);
  if (!ids.ok)
    add('tokenId', ids.reason === 'grammar' ? 'malformed' : 'out-of-range', TOKEN_ID_DETAIL[ids.reason]);
}
