/** The last 32 bytes of a signature of ERC-6492. */
const SUFFIX = '6492'.repeat(16);
const WORD = 64;

/** The call that deploys or prepares a wallet; hex without `0x`. */
export type WalletCall = { readonly target: string; readonly data: string };

/** A signature that brings a call, with the signature for the wallet itself. */
export type WrappedSignature = { readonly call: WalletCall; readonly signature: string };

export const hasSuffix = (signature: string): boolean => signature.endsWith(SUFFIX);

/**
 * Takes a signature of ERC-6492 apart: `abi.encode(address, bytes, bytes)` and the suffix.
 *
 * @param signature hex without `0x`, lower case, with the suffix
 * @returns `undefined` if the part before the suffix is not encoded like that
 */
export function unwrapSignature(signature: string): WrappedSignature | undefined {
  const encoded = signature.slice(0, -SUFFIX.length);
  const target = encoded.slice(0, WORD);
  const data = bytesAt(encoded, 1);
  const inner = bytesAt(encoded, 2);
  if (!/^0{24}[0-9a-f]{40}$/.test(target) || data === undefined || inner === undefined) return undefined;
  return { call: { target: target.slice(24), data }, signature: inner };
}

/** The `bytes` whose place is told by a word of the head. */
function bytesAt(encoded: string, headWord: number): string | undefined {
  const offset = numberAt(encoded, headWord * WORD);
  if (offset === undefined) return undefined;
  const length = numberAt(encoded, 2 * offset);
  if (length === undefined) return undefined;
  const start = 2 * offset + WORD;
  const bytes = encoded.slice(start, start + 2 * length);
  return bytes.length === 2 * length ? bytes : undefined;
}

/** A word as a number; `undefined` if it is not there, or beyond any signature. */
function numberAt(encoded: string, at: number): number | undefined {
  const word = encoded.slice(at, at + WORD);
  return /^0{56}[0-9a-f]{8}$/.test(word) ? Number.parseInt(word.slice(56), 16) : undefined;
}
