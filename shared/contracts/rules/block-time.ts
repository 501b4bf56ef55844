/** The placeholder for the time of the block that was read, with an offset in seconds. */
const BLOCK_TIME = /^\$timestamp(?:([+-])(0|[1-9][0-9]{0,9}))?$/;

/**
 * The offset of a value from the time of the block that was read, in seconds; `undefined` for a
 * text that does not stand for a time.
 *
 * @example
 * offsetFromBlockTime('$timestamp-86400'); // -86400n
 */
export function offsetFromBlockTime(text: string): bigint | undefined {
  const [found, sign = '', seconds = '0'] = BLOCK_TIME.exec(text) ?? [];
  return found === undefined ? undefined : BigInt(sign + seconds);
}
