import { type Call, failed, type Read, type Reading } from '../../domain/read.ts';
import { RETURNED_NOTHING } from './readings.ts';

const SELECTORS = {
  balanceOf: '70a08231',
  balanceOfId: '00fdd58e',
  ownerOf: '6352211e',
  decimals: '313ce567',
  supportsInterface: '01ffc9a7',
} as const;
/** The interface ids of ERC721 by ERC165: the standard's, and the draft's, which the first
 * collections answer to. */
const ERC721_INTERFACES = ['80ac58cd', '9a20483d'] as const;
const WORD_BYTES = 32;
const WORD_DIGITS = 2 * WORD_BYTES;
const SELECTOR_DIGITS = 8;

const ADDRESS_PADDING = '0'.repeat(WORD_DIGITS - 40);
const addressWord = (address: string): string => ADDRESS_PADDING + address.slice(2);
const numberWord = (value: bigint): string => value.toString(16).padStart(WORD_DIGITS, '0');

/**
 * The calldata of a read's call, hex without `0x`; a native balance and a time have none.
 *
 * @example
 * calldataOf(read); // '70a08231000000000000000000000000…'
 */
export function calldataOf({ kind, account, id, call }: Read): string | undefined {
  switch (kind) {
    case 'native':
    case 'time':
      return undefined;
    case 'balance':
      return SELECTORS.balanceOf + addressWord(account);
    case 'balance-of-id':
      return SELECTORS.balanceOfId + addressWord(account) + numberWord(id);
    case 'owner':
      return SELECTORS.ownerOf + numberWord(id);
    case 'decimals':
      return SELECTORS.decimals;
    case 'call':
      return call && fillIn(call, account);
  }
}

/** The calldata between the words that hold the wallet's address, cut once for all wallets. */
const piecesByCall = new WeakMap<Call, readonly string[]>();

function piecesOf(call: Call): readonly string[] {
  const known = piecesByCall.get(call);
  if (known) return known;
  const places = call.accountInputs.map((index) => SELECTOR_DIGITS + WORD_DIGITS * index);
  const starts = [0, ...places.map((place) => place + WORD_DIGITS)];
  const pieces = starts.map((start, i) => call.calldata.slice(start, places[i]));
  piecesByCall.set(call, pieces);
  return pieces;
}

/** Puts the wallet's address in the inputs that are to hold it. */
const fillIn = (call: Call, account: string): string => piecesOf(call).join(addressWord(account));

/** How many bytes of returned data a read must have, and from which on the word that is read
 * begins. */
const shapeOf = ({ call }: Read) => ({
  bytesMin: WORD_BYTES * (call?.wordCount ?? 1),
  bytesMax: call === undefined ? WORD_BYTES : Number.POSITIVE_INFINITY,
  at: WORD_BYTES * (call?.word ?? 0),
});

/**
 * The reading of a call's return data, hex without `0x`: the same bounds as in the reader contract.
 *
 * @example
 * readReturned(read, '00…05'); // { ok: true, value: 5n }
 */
export function readReturned(read: Read, data: string): Reading {
  if (data === '') return RETURNED_NOTHING;
  const { bytesMin, bytesMax, at } = shapeOf(read);
  if (data.length < 2 * bytesMin || data.length > 2 * bytesMax) return failed('return-malformed');
  return { ok: true, value: BigInt(`0x${data.slice(2 * at, 2 * at + WORD_DIGITS)}`) };
}

/**
 * The calldata of the calls by which a contract shows that it is an ERC721 although `ownerOf`
 * reverted; one answer of 1 is enough. A balance shows nothing: an ERC20 has one too.
 */
export const ERC721_PROOFS: readonly string[] = ERC721_INTERFACES.map(
  (id) => SELECTORS.supportsInterface + id.padEnd(WORD_DIGITS, '0'),
);
