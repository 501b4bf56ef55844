import { createHash, randomBytes } from 'node:crypto';
import { hashApiKey, isWellFormedApiKey, makeApiKey } from './api-key.ts';

/** Worked out apart from the code: zlib's CRC32 of the text in front, in base62. */
const ZERO_KEY_BODY = `rck_live_${'0'.repeat(30)}`;

describe('API keys', () => {
  it('have the prefix, 30 characters and a checksum of six', () => {
    for (let round = 0; round < 200; round += 1) {
      const key = makeApiKey(randomBytes(30));
      expect(key).toMatch(/^rck_live_[0-9A-Za-z]{36}$/);
      expect(isWellFormedApiKey(key)).toBe(true);
    }
  });

  it('carry the CRC32 of all that precedes, base62, most significant digit first', () => {
    const key = makeApiKey(new Uint8Array(30));
    expect(key.startsWith(ZERO_KEY_BODY)).toBe(true);
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    const value = [...key.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
    expect(value).toBe(bitwiseCrc32(ZERO_KEY_BODY));
  });

  it('are refused when any single character is changed', () => {
    const key = makeApiKey(randomBytes(30));
    for (let at = 0; at < key.length; at += 1) {
      const other = key[at] === 'x' ? 'y' : 'x';
      expect(isWellFormedApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
    }
  });

  it.each([
    '',
    'rck_live_',
    ' ',
    'rck_test_',
    `${ZERO_KEY_BODY}000000`,
    `${ZERO_KEY_BODY}00000`,
    'ключ',
    '\0',
  ])('are refused as malformed: %j', (text) => expect(isWellFormedApiKey(text)).toBe(false));

  it('are not made of too few random bytes', () => {
    expect(() => makeApiKey(randomBytes(29))).toThrow(RangeError);
  });

  it('are kept as their SHA-256', () => {
    expect(hashApiKey('abc')).toBe(createHash('sha256').update('abc').digest('hex'));
  });
});

function bitwiseCrc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}
