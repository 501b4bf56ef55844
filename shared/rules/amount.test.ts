import fc from 'fast-check';
import { AMOUNT, compareAmounts, isZeroAmount } from './amount.ts';

const amount = fc.stringMatching(/^(0|[1-9][0-9]{0,20})(\.[0-9]{1,10})?$/);
/** The amount as an integer of 10^-10 parts. */
const scaled = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(10, '0'));
};

describe('amounts', () => {
  it('compare as the numbers that they write', () => {
    fc.assert(
      fc.property(amount, amount, (a, b) => {
        const difference = scaled(a) - scaled(b);
        return Math.sign(compareAmounts(a, b)) === (difference > 0n ? 1 : difference < 0n ? -1 : 0);
      }),
    );
  });

  it('are zero exactly where their number is', () => {
    fc.assert(fc.property(amount, (text) => isZeroAmount(text) === (scaled(text) === 0n)));
  });

  it.each(['', '.', '1.', '.5', '00', '01', '1,5', '+1', ' 1', '1\n', '0x1', '１'])('are not %j', (text) =>
    expect(AMOUNT.test(text)).toBe(false),
  );
});
