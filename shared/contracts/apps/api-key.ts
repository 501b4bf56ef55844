import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'rck_live_';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;
const LENGTH = PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH;
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`);

/** How many random bytes a key is made of: 240 bits, reduced to 30 digits of base62 (178 bits). */
export const API_KEY_RANDOM_BYTES = 30;

/** A number in base62, most significant digit first; digits beyond `length` are dropped. */
function toBase62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let place = 0; place < length; place += 1) {
    text = DIGITS.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

const checksumOf = (text: string): string => toBase62(BigInt(crc32(text)), CHECKSUM_LENGTH);

/**
 * Makes an API key of random bytes: `rck_live_`, 30 characters of base62, and the CRC32 of all that
 * precedes in six more. The checksum lets a mistyped key be refused without a look into any store,
 * and lets secret scanners recognise a leaked one.
 *
 * @param random 30 bytes of a cryptographic source.
 * @throws RangeError when there are not exactly 30 bytes.
 * @example
 * makeApiKey(randomBytes(API_KEY_RANDOM_BYTES)); // 'rck_live_…', 45 characters
 */
export function makeApiKey(random: Uint8Array): string {
  if (random.length !== API_KEY_RANDOM_BYTES) throw new RangeError('an API key is made of 30 random bytes');
  const value = BigInt(`0x${Buffer.from(random).toString('hex')}`);
  const body = PREFIX + toBase62(value, RANDOM_LENGTH);
  return body + checksumOf(body);
}

/**
 * Whether a text has the form of an API key and the right checksum. It says nothing about whether
 * the key exists.
 */
export function isWellFormedApiKey(text: string): boolean {
  if (text.length !== LENGTH || !SHAPE.test(text)) return false;
  const body = text.slice(0, -CHECKSUM_LENGTH);
  return checksumOf(body) === text.slice(-CHECKSUM_LENGTH);
}

/**
 * SHA-256 of a key, hex; only this hash is stored. A key holds 178 random bits, so no slow hash is
 * needed.
 */
export const hashApiKey = (key: string): string => hash('sha256', key, 'hex');

/** The part of a key that may be shown after its creation: its first 13 characters and its last
 * four. */
export const displayPartsOf = (key: string): { prefix: string; lastFour: string } => ({
  prefix: key.slice(0, PREFIX.length + 4),
  lastFour: key.slice(-4),
});
