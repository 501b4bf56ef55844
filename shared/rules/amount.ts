/** Decimal text of a token amount: at most 78 digits, then at most 36 digits of a fraction. */
export const AMOUNT = /^(0|[1-9][0-9]{0,77})(\.[0-9]{1,36})?$/;

const partsOf = (amount: string): { whole: string; fraction: string } => {
  const point = amount.indexOf('.');
  if (point < 0) return { whole: amount, fraction: '' };
  return { whole: amount.slice(0, point), fraction: amount.slice(point + 1) };
};

export const isZeroAmount = (amount: string): boolean => /^0(\.0+)?$/.test(amount);

export const hasFraction = (amount: string): boolean => amount.includes('.');

/**
 * Compares two amounts exactly, as text: negative, zero or positive.
 *
 * @example
 * compareAmounts('1.50', '1.5'); // 0
 */
export function compareAmounts(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  if (left.whole.length !== right.whole.length) return left.whole.length - right.whole.length;
  if (left.whole !== right.whole) return left.whole < right.whole ? -1 : 1;
  const length = Math.max(left.fraction.length, right.fraction.length);
  const [x, y] = [left.fraction.padEnd(length, '0'), right.fraction.padEnd(length, '0')];
  if (x === y) return 0;
  return x < y ? -1 : 1;
}
