import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex } from '@noble/hashes/utils';

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
