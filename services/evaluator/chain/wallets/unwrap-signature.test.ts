import { AbiCoder, concat } from 'ethers';
import fc from 'fast-check';
import { hasSuffix, unwrapSignature } from './unwrap-signature.ts';

const SUFFIX = `0x${'6492'.repeat(16)}`;
const wrap = (target: string, data: string, signature: string): string =>
  concat([
    AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], [target, data, signature]),
    SUFFIX,
  ]);
const unwrap = (text: string) => unwrapSignature(text.slice(2).toLowerCase());
const TARGET = `0x${'ab'.repeat(20)}`;

test('takes apart what an ABI coder has put together', () => {
  const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => `0x${Buffer.from(array).toString('hex')}`);
  fc.assert(
    fc.property(bytes, bytes, (data, signature) => {
      const wrapped = wrap(TARGET, data, signature);
      expect(hasSuffix(wrapped)).toBe(true);
      expect(unwrap(wrapped)).toEqual({
        call: { target: TARGET.slice(2), data: data.slice(2) },
        signature: signature.slice(2),
      });
    }),
  );
});

test('refuses what no coder has written, and never reads beyond the end', () => {
  const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
  const target = TARGET.slice(2).padStart(64, '0');
  for (const encoded of [
    '',
    target,
    target + word(96) + word(96),
    target + word(96) + word(4_096) + word(0),
    target + word(96) + word(96) + word(1),
    target + word(2n ** 255n) + word(96) + word(0),
    'ff'.repeat(12) + TARGET.slice(2) + word(96) + word(96) + word(0),
  ])
    expect(unwrap(`0x${encoded}${SUFFIX.slice(2)}`)).toBeUndefined();
});
