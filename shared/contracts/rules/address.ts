import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex } from '@noble/hashes/utils';
import { LRUCache } from 'lru-cache';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** Whether `text` is `0x` and 40 hexadecimal digits, of whatever case. */
export const isAddressText = (text: string): boolean => ADDRESS.test(text);

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

/**
 * The mixed-case form of an address, by EIP-55.
 *
 * @example
 * toChecksumAddress('0xfb6916095ca1df60bb79ce92ce3ea74c37c5d359');
 * // '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
 */
export function toChecksumAddress(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const hash = bytesToHex(keccak_256(digits));
  let mixed = '0x';
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charAt(i);
    mixed += Number.parseInt(hash.charAt(i), 16) >= 8 ? digit.toUpperCase() : digit;
  }
  return mixed;
}

/** Mixed-case addresses judged lately: a hash costs more than all else that is done with an
 * address. */
const judged = new LRUCache<string, boolean>({ max: 20_000 });

/** Whether an address is free of a wrong checksum: all lower case, all upper case, or mixed as
 * EIP-55 has it. */
export function hasValidChecksum(address: string): boolean {
  const digits = address.slice(2);
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return true;
  const known = judged.get(address);
  if (known !== undefined) return known;
  const isValid = toChecksumAddress(address) === address;
  judged.set(address, isValid);
  return isValid;
}
