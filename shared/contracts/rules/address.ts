import { LRUCache } from 'lru-cache';
import { toChecksumAddress } from './checksum-address.ts';

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;

/** Whether `text` is `0x` and 40 hexadecimal digits, of whatever case. */
export const isAddressText = (text: string): boolean => ADDRESS.test(text);

export const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

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
