import type { Read } from '../../domain/read.ts';

const SELECTORS = {
  balanceOf: '70a08231',
  balanceOfId: '00fdd58e',
  ownerOf: '6352211e',
  decimals: '313ce567',
  supportsInterface: '01ffc9a7',
} as const;
/** The interface ids of ERC721 by ERC165: the standard's, and the draft's, which the first collections answer to. */
const ERC721_INTERFACES = ['80ac58cd', '9a20483d'] as const;
const WORD_DIGITS = 64;

const addressWord = (address: string): string => address.slice(2).padStart(WORD_DIGITS, '0');
const numberWord = (value: bigint): string => value.toString(16).padStart(WORD_DIGITS, '0');

/**
 * The calldata of a read's call, hex without `0x`; a native balance has none.
 *
 * @example
 * calldataOf(read); // '70a08231000000000000000000000000…'
 */
export function calldataOf({ kind, account, id }: Read): string | undefined {
  switch (kind) {
    case 'native':
      return undefined;
    case 'balance':
      return SELECTORS.balanceOf + addressWord(account);
    case 'balance-of-id':
      return SELECTORS.balanceOfId + addressWord(account) + numberWord(id);
    case 'owner':
      return SELECTORS.ownerOf + numberWord(id);
    case 'decimals':
      return SELECTORS.decimals;
  }
}

/**
 * The calldata of the calls by which a contract shows that it is an ERC721 although `ownerOf` reverted; one that is
 * answered with 1 is enough. A balance shows nothing: an ERC20 has one too.
 */
export const ERC721_PROOFS: readonly string[] = ERC721_INTERFACES.map(
  (id) => SELECTORS.supportsInterface + id.padEnd(WORD_DIGITS, '0'),
);
