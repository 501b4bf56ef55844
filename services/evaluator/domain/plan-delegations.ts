import { digitsOfWord } from '#shared/contracts/rules/abi-type.ts';
import { parseViewFunction, type ViewFunction } from '#shared/contracts/rules/view-function.ts';
import { callOf } from './plan-call.ts';
import type { Read, ReadCollector } from './read.ts';

/** How the delegate.xyz v2 registry is asked; `amount` functions return a number, the others true
 * or false. */
const FUNCTIONS = {
  all: 'function checkDelegateForAll(address to, address from, bytes32 rights) view returns (bool)',
  contract:
    'function checkDelegateForContract(address to, address from, address contract_, bytes32 rights) view returns (bool)',
  'owned-id':
    'function checkDelegateForERC721(address to, address from, address contract_, uint256 tokenId, bytes32 rights) view returns (bool)',
  erc20:
    'function checkDelegateForERC20(address to, address from, address contract_, bytes32 rights) view returns (uint256)',
  erc1155:
    'function checkDelegateForERC1155(address to, address from, address contract_, uint256 tokenId, bytes32 rights) view returns (uint256)',
} as const;

/** The rights of full delegations: delegations that are limited to some rights do not count. */
const NO_RIGHTS = 0n;
/** The whole answer of each; the accounts are written out. */
const ONE_WORD = { accountInputs: [], word: 0, wordCount: 1 } as const;

export type DelegationScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'contract' | 'erc20'; readonly contract: string }
  | { readonly kind: 'owned-id' | 'erc1155'; readonly contract: string; readonly id: bigint };

/** The reads that tell whether, or how much, a vault has delegated to the accounts: one for each
 * account. */
export type Delegations = {
  readonly reads: readonly Read[];
  /** Whether they return an amount, or true or false. */
  readonly isAmount: boolean;
};

type Question = {
  readonly chainId: number;
  readonly registry: string;
  readonly accounts: readonly string[];
  readonly vault: string;
  readonly scope: DelegationScope;
};

export function needDelegations(
  collector: ReadCollector,
  { chainId, registry, accounts, vault, scope }: Question,
): Delegations {
  const { selector } = functionOf(scope.kind);
  const place = 'contract' in scope ? [scope.contract] : [];
  const id = 'id' in scope ? [scope.id] : [];
  // Each argument is a word, and only the first one differs: a check may ask 10 000 of these.
  const others = [vault, ...place, ...id, NO_RIGHTS].map(digitsOf).join('');
  const reads = accounts.map((account) => {
    const call = callOf(selector + digitsOf(account) + others, ONE_WORD);
    return collector.source(chainId, 'call', registry, { call }).of(account);
  });
  return { reads, isAmount: scope.kind === 'erc20' || scope.kind === 'erc1155' };
}

const digitsOf = (argument: string | bigint): string => digitsOfWord(BigInt(argument));

function functionOf(kind: DelegationScope['kind']): ViewFunction {
  const parsed = parseViewFunction(FUNCTIONS[kind]);
  if (!parsed.ok) throw new RangeError(parsed.detail);
  return parsed.fn;
}
