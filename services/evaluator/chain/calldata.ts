import type { Read } from '../domain/read.ts';

const SELECTORS = {
  balanceOf: '70a08231',
  balanceOfId: '00fdd58e',
  ownerOf: '6352211e',
  decimals: '313ce567',
  supportsInterface: '01ffc9a7',
} as const;
/** The interface id of ERC721 by ERC165. */
const ERC721_INTERFACE = '80ac58cd';
const WORD_DIGITS = 64;

const addressWord = (address: string): string => address.slice(2).padStart(WORD_DIGITS, '0');
const numberWord = (value: bigint): string => value.toString(16).padStart(WORD_DIGITS, '0');

/**
 * The calldata of the call that a read stands for, hex without `0x`; a native balance has none.
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

/** The calls that show whether a contract answers as an ERC721 although `ownerOf` reverted. */
export const erc721Proofs = ({ account }: Read): readonly [supportsInterface: string, balanceOf: string] => [
  SELECTORS.supportsInterface + ERC721_INTERFACE.padEnd(WORD_DIGITS, '0'),
  SELECTORS.balanceOf + addressWord(account),
];
