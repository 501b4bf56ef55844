import { parseTokenIds, TOKEN_IDS_MAX } from '#shared/contracts/rules/token-ids.ts';
import { compareAmounts, hasFraction, isZeroAmount } from './amount.ts';
import { type ViewCallParts, validateViewCall } from './validate-view-call.ts';

/** The members of a rule that are well-formed by themselves. A malformed member is absent here. */
type RuleParts = ViewCallParts & {
  readonly type?: string | undefined;
  readonly chainId?: number | undefined;
  readonly contractAddress?: string | undefined;
  readonly minToken?: string | undefined;
  readonly maxToken?: string | undefined;
  readonly tokenId?: string | undefined;
  readonly atLeast?: number | undefined;
  readonly rules?: readonly unknown[] | undefined;
};

/** A fault of a rule's member. Its detail is a predicate, such as "is required for ERC20". */
type RuleFault = {
  readonly member: string;
  /** Of the faulty entry, where the member is a list. */
  readonly index?: number;
  readonly code: string;
  readonly detail: string;
};

const TOKEN_ID_DETAIL = {
  grammar: 'must be ids and ranges separated by commas, without spaces, such as "1,2,42-69"',
  reversed: 'has a range that ends before it begins; write the smaller id first, such as "42-69"',
  'too-large': 'has an id of 2^256 or more; the largest id is 2^256 - 1',
  'too-many': `has more than ${TOKEN_IDS_MAX} ids after its ranges are expanded`,
} as const;

const CHAINS_LISTED_MAX = 20;

const isNft = (type: string): boolean => type === 'ERC721' || type === 'ERC1155';

/**
 * Validates a rule beyond the schema of its type: its members together, and against the configuration.
 *
 * @param parts the well-formed members
 * @param present the names of all members that the client sent, well-formed or not
 * @param chainIds the configured chains
 * @example
 * validateRule({ type: 'NATIVE', chainId: 1, minToken: '0' }, new Set(['type', 'chainId', 'minToken']), new Set([1]));
 * // [{ member: 'minToken', code: 'min-token-zero', detail: '…' }]
 */
export function validateRule(
  parts: RuleParts,
  present: ReadonlySet<string>,
  chainIds: ReadonlySet<number>,
): RuleFault[] {
  const faults: RuleFault[] = [];
  const add: Add = (member, code, detail, index) =>
    faults.push({ member, code, detail, ...(index === undefined ? {} : { index }) });
  if (parts.chainId !== undefined && !chainIds.has(parts.chainId))
    add(
      'chainId',
      'chain-unsupported',
      `names chain ${parts.chainId}, which is not configured; ${listOf(chainIds)}`,
    );
  validateAmounts(parts, present, add);
  validateTokenId(parts.tokenId, add);
  validateAtLeast(parts, add);
  validateViewCall(parts, present, add);
  return faults;
}

/** The configured chains as text; a long list is cut. */
function listOf(chainIds: ReadonlySet<number>): string {
  const listed = [...chainIds].slice(0, CHAINS_LISTED_MAX).join(', ');
  return `configured: ${listed}${chainIds.size > CHAINS_LISTED_MAX ? ', …' : ''}`;
}

type Add = (member: string, code: string, detail: string, index?: number) => void;

function validateAmounts(
  { type, minToken, maxToken }: RuleParts,
  present: ReadonlySet<string>,
  add: Add,
): void {
  if (type !== undefined && isNft(type)) {
    if (minToken !== undefined && hasFraction(minToken))
      add('minToken', 'fraction', `must be a whole number for ${type}, such as "1"`);
    if (maxToken !== undefined && hasFraction(maxToken))
      add('maxToken', 'fraction', `must be a whole number for ${type}, such as "1"`);
  }
  if (minToken !== undefined && isZeroAmount(minToken) && !present.has('maxToken'))
    add(
      'minToken',
      'min-token-zero',
      'must be above zero unless maxToken is given: a minimum of zero alone would always grant',
    );
  const least = present.has('minToken') ? minToken : '1';
  if (least !== undefined && maxToken !== undefined && compareAmounts(maxToken, least) < 0)
    add('maxToken', 'out-of-range', 'must not be below minToken ("1" by default)');
}

function validateTokenId(tokenId: string | undefined, add: Add): void {
  if (tokenId === undefined) return;
  const ids = parseTokenIds(tokenId);
  if (!ids.ok)
    add('tokenId', ids.reason === 'grammar' ? 'malformed' : 'out-of-range', TOKEN_ID_DETAIL[ids.reason]);
}

function validateAtLeast({ atLeast, rules }: RuleParts, add: Add): void {
  if (atLeast !== undefined && rules !== undefined && atLeast > rules.length)
    add('atLeast', 'out-of-range', `must be at most ${rules.length}, the number of rules inside`);
}
