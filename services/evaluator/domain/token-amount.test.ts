import fc from 'fast-check';
import { isTokenAmount, scaleTokenAmount, TokenRange } from './token-amount.ts';

/** The model: an amount as a fraction of two integers, without any text. */
const anAmount = fc
  .tuple(fc.bigInt({ min: 0n, max: 10n ** 77n }), fc.integer({ min: 0, max: 36 }))
  .chain(([whole, digits]) =>
    fc.bigInt({ min: 0n, max: 10n ** BigInt(digits) - 1n }).map((fraction) => ({ whole, digits, fraction })),
  );
const textOf = ({ whole, digits, fraction }: { whole: bigint; digits: number; fraction: bigint }) =>
  digits === 0 ? String(whole) : `${whole}.${String(fraction).padStart(digits, '0')}`;

test('scaling is exact against rational numbers, a minimum rounded up and a maximum down', () => {
  fc.assert(
    fc.property(anAmount, fc.integer({ min: 0, max: 255 }), (amount, decimals) => {
      const numerator =
        (amount.whole * 10n ** BigInt(amount.digits) + amount.fraction) * 10n ** BigInt(decimals);
      const denominator = 10n ** BigInt(amount.digits);
      const floor = numerator / denominator;
      const ceiling = floor * denominator === numerator ? floor : floor + 1n;
      expect(scaleTokenAmount(textOf(amount), decimals, 'down')).toBe(floor);
      expect(scaleTokenAmount(textOf(amount), decimals, 'up')).toBe(ceiling);
    }),
    { numRuns: 2_000 },
  );
});

test.each([
  ['1', 18, 'up', 10n ** 18n],
  ['0.0', 6, 'up', 0n],
  ['0.0000001', 6, 'up', 1n],
  ['0.0000001', 6, 'down', 0n],
  ['1500.5', 6, 'up', 1_500_500_000n],
  ['1.10', 1, 'up', 11n],
  ['1', 255, 'up', 10n ** 255n],
  [String(2n ** 256n - 1n), 0, 'down', 2n ** 256n - 1n],
  ['9'.repeat(78), 255, 'down', BigInt('9'.repeat(78)) * 10n ** 255n],
] as const)('%s with %d decimals, rounded %s, is exactly %s', (text, decimals, rounding, expected) => {
  expect(scaleTokenAmount(text, decimals, rounding)).toBe(expected);
});

test.each(['', '01', '1.', '.5', '-1', '1e3', '1,5', ' 1', '0x1', '9'.repeat(79), `0.${'1'.repeat(37)}`])(
  'text outside the grammar is refused: %j',
  (text) => {
    expect(isTokenAmount(text)).toBe(false);
    expect(() => scaleTokenAmount(text, 18, 'up')).toThrow(RangeError);
  },
);

test('a range is scaled by the decimals of each call, whichever came before', () => {
  const range = new TokenRange('1.5', '2');
  for (const decimals of [1, 1, 2, 1])
    expect(range.boundsAt(decimals)).toEqual({
      min: scaleTokenAmount('1.5', decimals, 'up'),
      max: scaleTokenAmount('2', decimals, 'down'),
    });
  expect(new TokenRange('1.55', undefined).boundsAt(1)).toEqual({ min: 16n, max: undefined });
});
