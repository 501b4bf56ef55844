import { keccak_256 } from '@noble/hashes/sha3';
import { bytesToHex } from '@noble/hashes/utils';
import { recover } from 'tiny-secp256k1';

const WORD = 64;
/** Half of the order of secp256k1: for each signature there is a second one above it (EIP-2). */
const S_MAX = '7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0';

/** The two values of `v`; 0 and 1 are how some wallets write them. */
const PARITIES: Readonly<Record<string, 0 | 1>> = { '1b': 0, '1c': 1, '00': 0, '01': 1 };

/**
 * The address whose key made a signature.
 *
 * @param hash `0x` and 64 hex digits
 * @param signature `0x` and hex, lower case: 65 bytes, or 64 in the compact form of EIP-2098
 * @returns lower case; `undefined` if it is no such signature, or its `s` is in the upper half
 */
export function recoverSigner(hash: string, signature: string): string | undefined {
  const parts = partsOf(signature.slice(2));
  if (parts === undefined || parts.s > S_MAX) return undefined;
  try {
    const key = recover(
      Buffer.from(hash.slice(2), 'hex'),
      Buffer.from(parts.r + parts.s, 'hex'),
      parts.parity,
      false,
    );
    return key === null ? undefined : `0x${bytesToHex(keccak_256(key.subarray(1)).subarray(12))}`;
  } catch {
    // `r` or `s` is not a number of the curve.
    return undefined;
  }
}

/** The numbers of a signature, in hex. */
function partsOf(bytes: string) {
  const r = bytes.slice(0, WORD);
  const s = bytes.slice(WORD, 2 * WORD);
  if (bytes.length === 2 * WORD) {
    const first = Number.parseInt(s.charAt(0), 16);
    return { r, s: (first & 7).toString(16) + s.slice(1), parity: first >= 8 ? 1 : 0 } as const;
  }
  const parity = bytes.length === 2 * WORD + 2 ? PARITIES[bytes.slice(2 * WORD)] : undefined;
  return parity === undefined ? undefined : { r, s, parity };
}
