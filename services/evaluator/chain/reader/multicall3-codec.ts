/** One call of an `aggregate3`. */
export type Aggregated = {
  readonly target: string;
  /** Hex without `0x`. */
  readonly calldata: string;
  /** Whether all calls are undone if it fails; default: it fails alone. */
  readonly isRequired?: boolean;
};

/** The result of one call of an `aggregate3`; `data` is hex without `0x`. */
export type AggregatedAnswer = { readonly success: boolean; readonly data: string };

const AGGREGATE3 = '82ad56cb';
const WORD_BYTES = 32;
const WORD_DIGITS = 2 * WORD_BYTES;

const word = (value: number): string => value.toString(16).padStart(WORD_DIGITS, '0');

/**
 * The calldata of `aggregate3((address target, bool allowFailure, bytes callData)[])`, `0x` and hex, written by its
 * layout: an offset per call, then per call target, whether it may fail, offset 96, length, padded data. A call that is
 * made several times in a row is written once.
 *
 * @param calls each with the number of times that it is made
 */
export function encodeAggregate3(calls: readonly (readonly [Aggregated, number])[]): string {
  let count = 0;
  for (const [, times] of calls) count += times;
  let offsets = '';
  let tail = '';
  for (const [{ target, calldata, isRequired = false }, times] of calls) {
    offsets += word(count * WORD_BYTES + tail.length / 2).repeat(times);
    const padded = calldata.padEnd(Math.ceil(calldata.length / WORD_DIGITS) * WORD_DIGITS, '0');
    tail +=
      target.slice(2).padStart(WORD_DIGITS, '0') +
      word(isRequired ? 0 : 1) +
      word(3 * WORD_BYTES) +
      word(calldata.length / 2) +
      padded;
  }
  return `0x${AGGREGATE3}${word(WORD_BYTES)}${word(count)}${offsets}${tail}`;
}

/**
 * Takes the answer of `aggregate3` apart; `undefined` if it is not exactly `count` well-formed answers. Every
 * offset and length is checked against the answer's end.
 */
export function decodeAggregate3(answer: unknown, count: number): AggregatedAnswer[] | undefined {
  if (typeof answer !== 'string' || !/^0x([0-9a-fA-F]{64})+$/.test(answer)) return undefined;
  const hex = answer.slice(2);
  const start = readNumber(hex, 0);
  if (start === undefined || readNumber(hex, start) !== count) return undefined;
  const base = start + WORD_BYTES;
  const answers: AggregatedAnswer[] = [];
  for (let index = 0; index < count; index++) {
    const one = decodeOne(hex, base, base + index * WORD_BYTES);
    if (one === undefined) return undefined;
    answers.push(one);
  }
  return answers;
}

function decodeOne(hex: string, base: number, offsetAt: number): AggregatedAnswer | undefined {
  const offset = readNumber(hex, offsetAt);
  const at = offset === undefined ? undefined : base + offset;
  const success = at === undefined ? undefined : readNumber(hex, at);
  const dataOffset = at === undefined ? undefined : readNumber(hex, at + WORD_BYTES);
  if (at === undefined || dataOffset === undefined || (success !== 0 && success !== 1)) return undefined;
  const length = readNumber(hex, at + dataOffset);
  if (length === undefined) return undefined;
  const from = 2 * (at + dataOffset + WORD_BYTES);
  if (from + 2 * length > hex.length) return undefined;
  return { success: success === 1, data: hex.slice(from, from + 2 * length) };
}

/** The word at a byte offset as a number; `undefined` beyond the end, or if it is too large for a length or offset. */
function readNumber(hex: string, atByte: number): number | undefined {
  const digits = hex.slice(2 * atByte, 2 * atByte + WORD_DIGITS);
  if (digits.length !== WORD_DIGITS || !digits.startsWith('0'.repeat(WORD_DIGITS - 8))) return undefined;
  return Number.parseInt(digits, 16);
}
