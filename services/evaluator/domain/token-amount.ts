/** Most digits of a fraction that a client may write. */
export const FRACTION_DIGITS_MAX = 36;
/** Parts of a token, of which every amount that a client may write is a whole number. */
export const PARTS = 10n ** BigInt(FRACTION_DIGITS_MAX);
const AMOUNT = /^(0|[1-9][0-9]{0,77})(?:\.([0-9]{1,36}))?$/;

/** Whether `text` is an amount in whole tokens: a decimal string, such as `1500.5`. */
export const isTokenAmount = (text: string): boolean => AMOUNT.test(text);

/**
 * Converts an amount in whole tokens to an integer of the token's smallest unit. Exact for every
 * amount of the grammar and every `decimals` from 0 to 255; a result above 2^256 exceeds every
 * possible balance.
 *
 * If the amount has more fraction digits than the token, a minimum is rounded up and a maximum
 * down, so that rounding never admits a balance that the amount as written would not.
 *
 * @throws RangeError where `text` is outside the grammar.
 *
 * @example
 * scaleTokenAmount('1500.5', 6, 'up'); // 1500500000n
 * scaleTokenAmount('0.0000001', 6, 'up'); // 1n
 * scaleTokenAmount('0.0000001', 6, 'down'); // 0n
 */
export function scaleTokenAmount(text: string, decimals: number, rounding: 'up' | 'down'): bigint {
  const match = AMOUNT.exec(text);
  if (!match) throw new RangeError('not a token amount');
  const [, whole = '', fraction = ''] = match;
  if (fraction.length <= decimals)
    return BigInt(whole + fraction) * 10n ** BigInt(decimals - fraction.length);
  const kept = BigInt(whole + fraction.slice(0, decimals));
  const isExact = /^0*$/.test(fraction.slice(decimals));
  return isExact || rounding === 'down' ? kept : kept + 1n;
}

/** The amounts that satisfy a token rule, in the token's smallest unit; both ends are inclusive. */
export type TokenBounds = { readonly min: bigint; readonly max: bigint | undefined };

/** The amounts that satisfy a token rule, in whole tokens. It is judged for many wallets, mostly
 * with the same decimals. */
export class TokenRange {
  readonly #min: string;
  readonly #max: string | undefined;
  #decimals = -1;
  #bounds: TokenBounds = { min: 0n, max: undefined };

  /** A decimal string. */
  constructor(min: string, max: string | undefined) {
    this.#min = min;
    this.#max = max;
  }

  /** @throws RangeError where an amount is outside the grammar. */
  boundsAt(decimals: number): TokenBounds {
    if (decimals === this.#decimals) return this.#bounds;
    this.#bounds = {
      min: scaleTokenAmount(this.#min, decimals, 'up'),
      max: this.#max === undefined ? undefined : scaleTokenAmount(this.#max, decimals, 'down'),
    };
    this.#decimals = decimals;
    return this.#bounds;
  }
}

/**
 * The exact amount in whole tokens, without trailing zeros.
 *
 * @example
 * formatTokenAmount(1_500_500_000n, 6); // '1500.5'
 */
export function formatTokenAmount(amount: bigint, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}
