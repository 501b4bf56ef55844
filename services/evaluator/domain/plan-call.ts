import {
  type AbiType,
  ACCOUNT,
  isInteger,
  judgeValue,
  numberOf,
  wordOf,
} from '#shared/contracts/rules/abi-type.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import { offsetFromBlockTime } from '#shared/contracts/rules/block-time.ts';
import type { ContractCondition, Operator, ViewCall } from '#shared/contracts/rules/rule.ts';
import {
  digestOfCalldata,
  encodeCall,
  findOutput,
  parseViewFunction,
  type ViewFunction,
} from '#shared/contracts/rules/view-function.ts';
import { type Call, type FailedReading, failed, type Reading } from './read.ts';

/** Longer calldata is keyed by its digest, so that a key of a read stays short. */
const ID_DIGITS_MAX = 400;

/** The value with which the output of a `CONTRACT` rule is compared. */
export type Comparison = {
  readonly type: AbiType;
  readonly operator: Operator;
  /** As the client wrote it, or its default. */
  readonly value: string;
  /** Of a value that stands for a time: seconds after that of the block. */
  readonly offset?: bigint | undefined;
};

/** A rule that must not be judged; the message says why. */
export class Unplannable extends Error {}

export function refuse(fault: string): never {
  throw new Unplannable(fault);
}

/** The call that reads one output, and the type of the output. */
export function planOutput(view: ViewCall): { readonly call: Call; readonly type: AbiType } {
  const parsed = parseViewFunction(view.function);
  if (!parsed.ok) return refuse(`the function ${parsed.detail}`);
  const output = findOutput(parsed.fn, view.returns);
  if (!output.ok) return refuse(`the output ${output.detail}`);
  return { call: makeCall(parsed.fn, view.args ?? [], output.word), type: output.type };
}

/** The call and the comparison of a `CONTRACT` rule. */
export function planCall(rule: ContractCondition): { readonly call: Call; readonly comparison: Comparison } {
  const { call, type } = planOutput(rule);
  const operator = rule.operator ?? (type.kind === 'bool' ? 'eq' : undefined);
  const value = rule.value ?? (type.kind === 'bool' ? 'true' : undefined);
  if (operator === undefined || value === undefined) return refuse('nothing to compare with');
  if (operator !== 'eq' && operator !== 'ne' && !isInteger(type))
    refuse(`the operator ${operator} is for integers`);
  const wrong = judgeValue(type, value);
  if (wrong !== undefined) refuse(`the value ${wrong}`);
  return { call, comparison: { type, operator, value, offset: offsetFromBlockTime(value) } };
}

/** The call of a function, with the inputs that are `$account` left open. */
export function makeCall(fn: ViewFunction, args: readonly string[], word: number): Call {
  const encoded = encodeCall(fn, args, ZERO_ADDRESS);
  if (!encoded.ok) return refuse(`argument ${encoded.index ?? ''} ${encoded.detail}`);
  const accountInputs = [...args.keys()].filter(
    (index) => args[index] === ACCOUNT && fn.inputs[index]?.type.kind === 'address',
  );
  return callOf(encoded.calldata, { accountInputs, word, wordCount: fn.wordCount });
}

/** The call of encoded calldata. */
export function callOf(
  calldata: string,
  { accountInputs, word, wordCount }: Pick<Call, 'accountInputs' | 'word' | 'wordCount'>,
): Call {
  const text = calldata.length <= ID_DIGITS_MAX ? calldata : digestOfCalldata(calldata);
  const id = `${text}/${accountInputs.join()}/${word}/${wordCount}`;
  return { calldata, accountInputs, word, wordCount, id };
}

/**
 * Settles a comparison for the block that was read: a value that stands for a time becomes that
 * number of seconds, which the output's type need not be able to hold.
 *
 * @param time of the block; needed if the value is a time
 * @returns the failure if the time is needed and could not be read
 */
export function settle(comparison: Comparison, time: Reading | undefined): Comparison | FailedReading {
  const { type, operator, offset } = comparison;
  if (offset === undefined) return comparison;
  if (!time?.ok) return time ?? failed('internal');
  return { type, operator, value: String(time.value + offset) };
}

/** Whether a returned word satisfies a settled comparison for the wallet in `$account`. */
export function satisfies({ type, operator, value }: Comparison, word: bigint, account: string): boolean {
  const actual = numberOf(type, word);
  const expected = isInteger(type) ? BigInt(value) : wordOf(type, value, account);
  switch (operator) {
    case 'eq':
      return actual === expected;
    case 'ne':
      return actual !== expected;
    case 'gt':
      return actual > expected;
    case 'gte':
      return actual >= expected;
    case 'lt':
      return actual < expected;
    case 'lte':
      return actual <= expected;
  }
}
