import { bytesToHex } from '@noble/hashes/utils';
import { hasValidChecksum, isAddressText } from './address.ts';
import { offsetFromBlockTime } from './block-time.ts';
import { toChecksumAddress } from './checksum-address.ts';

/** Most bytes of a `string` or `bytes` argument. */
const DYNAMIC_BYTES_MAX = 256;
/** The placeholder for the wallet that is checked. */
export const ACCOUNT = '$account';

const WORD_BITS = 256;
const WORD_DIGITS = 64;
const WORD = 1n << 256n;

/** A type of the contract ABI that a view function may take or return. */
export type AbiType =
  | { readonly kind: 'uint' | 'int'; readonly bits: number }
  | { readonly kind: 'bool' | 'address' | 'string' | 'bytes' }
  | { readonly kind: 'fixed-bytes'; readonly byteCount: number };

const NUMBERED_TYPE = /^(uint|int|bytes)([1-9][0-9]{0,2})$/;

/**
 * Parses the name of a type; `undefined` if a view function may not have it.
 *
 * @example
 * parseAbiType('uint'); // { kind: 'uint', bits: 256 }
 */
export function parseAbiType(name: string): AbiType | undefined {
  if (name === 'uint' || name === 'int') return { kind: name, bits: WORD_BITS };
  if (name === 'bool' || name === 'address' || name === 'string' || name === 'bytes') return { kind: name };
  const [, kind, digits] = NUMBERED_TYPE.exec(name) ?? [];
  const size = Number(digits);
  if (kind === 'bytes') return size <= 32 ? { kind: 'fixed-bytes', byteCount: size } : undefined;
  if (kind !== 'uint' && kind !== 'int') return undefined;
  return size <= WORD_BITS && size % 8 === 0 ? { kind, bits: size } : undefined;
}

/** The name that the selector is made of: `uint256`, never `uint`. */
export function nameOfType(type: AbiType): string {
  if (type.kind === 'uint' || type.kind === 'int') return `${type.kind}${type.bits}`;
  return type.kind === 'fixed-bytes' ? `bytes${type.byteCount}` : type.kind;
}

export const isDynamic = ({ kind }: AbiType): boolean => kind === 'string' || kind === 'bytes';
/** Whether values of the type can be compared by more than equality. */
export const isInteger = ({ kind }: AbiType): boolean => kind === 'uint' || kind === 'int';
/** Whether values of the type are written in hexadecimal digits, whose case does not matter. */
export const isHexadecimal = ({ kind }: AbiType): boolean =>
  kind === 'address' || kind === 'fixed-bytes' || kind === 'bytes';

function rangeOf({ kind, bits }: { readonly kind: 'uint' | 'int'; readonly bits: number }) {
  if (kind === 'uint') return { min: 0n, max: (1n << BigInt(bits)) - 1n };
  const half = 1n << BigInt(bits - 1);
  return { min: -half, max: half - 1n };
}

const INTEGER = /^(?:0|-?[1-9][0-9]{0,77})$/;

/**
 * The fault of a text as a value to compare an output with, as a predicate; `undefined` if it has
 * none. Integers can also be compared with the time of the block that was read.
 */
export function judgeValue(type: AbiType, text: string): string | undefined {
  if (!isInteger(type)) return judgeArgument(type, text);
  if (offsetFromBlockTime(text) !== undefined) return undefined;
  const detail = judgeArgument(type, text);
  return detail && `${detail}, or "$timestamp" with an offset in seconds, such as "$timestamp-86400"`;
}

/**
 * The fault of a text as an argument, as a predicate; `undefined` if it has none.
 *
 * @example
 * judgeArgument({ kind: 'uint', bits: 8 }, '256'); // 'must be an integer from 0 to 255, …'
 */
export function judgeArgument(type: AbiType, text: string): string | undefined {
  switch (type.kind) {
    case 'uint':
    case 'int': {
      const { min, max } = rangeOf(type);
      if (INTEGER.test(text) && BigInt(text) >= min && BigInt(text) <= max) return undefined;
      const range =
        type.bits <= 32 ? `an integer from ${min} to ${max}` : `an integer of ${nameOfType(type)}`;
      return `must be ${range} in decimal digits, without a plus sign or leading zeros`;
    }
    case 'bool':
      return text === 'true' || text === 'false' ? undefined : 'must be "true" or "false"';
    case 'address':
      if (text === ACCOUNT) return undefined;
      if (!isAddressText(text)) return `must be an address (0x and 40 hexadecimal digits) or "${ACCOUNT}"`;
      return hasValidChecksum(text) ? undefined : 'does not match its EIP-55 checksum';
    case 'fixed-bytes':
      return isHex(text) && text.length === 2 + 2 * type.byteCount
        ? undefined
        : `must be 0x and ${2 * type.byteCount} hexadecimal digits`;
    case 'bytes':
      return isHex(text) && text.length <= 2 + 2 * DYNAMIC_BYTES_MAX
        ? undefined
        : `must be 0x and an even number of hexadecimal digits, at most ${DYNAMIC_BYTES_MAX} bytes`;
    case 'string':
      if (!text.isWellFormed()) return 'must not hold half of a surrogate pair';
      return text.length <= DYNAMIC_BYTES_MAX && utf8Of(text).length <= DYNAMIC_BYTES_MAX
        ? undefined
        : `must have at most ${DYNAMIC_BYTES_MAX} bytes in UTF-8`;
  }
}

const isHex = (text: string): boolean => /^0x(?:[0-9a-fA-F]{2})*$/.test(text);
const utf8Of = (text: string): Uint8Array => new TextEncoder().encode(text);

/**
 * The word that a static value is encoded as.
 *
 * @param account the wallet that replaces `$account`
 * @param text a text in which `judgeArgument` found no fault
 */
export function wordOf(type: AbiType, text: string, account: string): bigint {
  switch (type.kind) {
    case 'uint':
    case 'int':
      return BigInt.asUintN(WORD_BITS, BigInt(text));
    case 'bool':
      return text === 'true' ? 1n : 0n;
    case 'address':
      return BigInt(text === ACCOUNT ? account : text);
    case 'fixed-bytes':
      return BigInt(text) << BigInt(WORD_BITS - 8 * type.byteCount);
    case 'string':
    case 'bytes':
      throw new RangeError('a dynamic value is more than a word');
  }
}

/** The bytes of a `string` or `bytes` value, hex without `0x`. */
export const dynamicBytesOf = (type: AbiType, text: string): string =>
  type.kind === 'bytes' ? text.slice(2).toLowerCase() : bytesToHex(utf8Of(text));

export const digitsOfWord = (word: bigint): string => word.toString(16).padStart(WORD_DIGITS, '0');

/**
 * Whether a returned word is a value of the type: a boolean of 2, a `uint8` of 300, and an address
 * with anything before its 20 bytes are not.
 */
export function isValueOf(type: AbiType, word: bigint): boolean {
  if (word < 0n || word >= WORD) return false;
  switch (type.kind) {
    case 'uint':
      return word < 1n << BigInt(type.bits);
    case 'int':
      return BigInt.asUintN(WORD_BITS, BigInt.asIntN(type.bits, word)) === word;
    case 'bool':
      return word < 2n;
    case 'address':
      return word < 1n << 160n;
    case 'fixed-bytes':
      return BigInt.asUintN(WORD_BITS - 8 * type.byteCount, word) === 0n;
    case 'string':
    case 'bytes':
      return false;
  }
}

/** The number that a word of an integer type encodes; the word itself for every other type. */
export const numberOf = ({ kind }: AbiType, word: bigint): bigint =>
  kind === 'int' ? BigInt.asIntN(WORD_BITS, word) : word;

/**
 * The canonical text of a value, in the form of an argument.
 *
 * @param word a word that `isValueOf` accepted
 * @example
 * textOfWord({ kind: 'bool' }, 1n); // 'true'
 */
export function textOfWord(type: AbiType, word: bigint): string {
  switch (type.kind) {
    case 'bool':
      return word === 1n ? 'true' : 'false';
    case 'address':
      return toChecksumAddress(`0x${word.toString(16).padStart(40, '0')}`);
    case 'fixed-bytes':
      return `0x${digitsOfWord(word).slice(0, 2 * type.byteCount)}`;
    default:
      return String(numberOf(type, word));
  }
}
