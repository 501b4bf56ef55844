import { type AbiType, isInteger, judgeArgument, nameOfType } from '#shared/contracts/rules/abi-type.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import {
  encodeCall,
  outputOf,
  parseViewFunction,
  type ViewFunction,
} from '#shared/contracts/rules/view-function.ts';

/** The members of a `CONTRACT` rule that are well-formed by themselves. A malformed member is absent here. */
export type ViewCallParts = {
  readonly function?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly returns?: string | undefined;
  readonly operator?: string | undefined;
  readonly value?: string | undefined;
};

/** `index` is that of the faulty entry of a list. */
type Add = (member: string, code: string, detail: string, index?: number) => void;

/**
 * Validates the call of a `CONTRACT` rule and the comparison of its output. Nothing is said of the arguments and the
 * value of a function that is refused.
 *
 * @param present the names of all members that the client sent, well-formed or not
 * @example
 * validateViewCall({ function: 'function paused() view returns (bool)' }, new Set(['function']), add); // adds nothing
 */
export function validateViewCall(parts: ViewCallParts, present: ReadonlySet<string>, add: Add): void {
  if (parts.function === undefined) return;
  const parsed = parseViewFunction(parts.function);
  if (!parsed.ok) {
    add('function', 'function-unsupported', parsed.detail);
    return;
  }
  validateArguments(parsed.fn, parts.args, present, add);
  if (present.has('returns') && parts.returns === undefined) return;
  const output = outputOf(parsed.fn, parts.returns);
  if (output === undefined)
    add(
      'returns',
      'unknown-output',
      `must be the name or the index of an output: ${describeOutputs(parsed.fn)}`,
    );
  else validateComparison(output.type, parts, present, add);
}

function validateArguments(
  fn: ViewFunction,
  args: readonly string[] | undefined,
  present: ReadonlySet<string>,
  add: Add,
): void {
  const expected = fn.inputs.length;
  if (args === undefined) {
    if (!present.has('args') && expected > 0)
      add(
        'args',
        'required',
        `is required: ${fn.name} has ${expected} ${expected === 1 ? 'input' : 'inputs'}`,
      );
    return;
  }
  if (args.length !== expected) {
    const code = args.length < expected ? 'too-short' : 'too-many';
    add('args', code, `must have one text per input of ${fn.name}, which has ${expected}`);
    return;
  }
  const faults = fn.inputs.map(({ type }, index) => judgeArgument(type, args[index] ?? ''));
  for (const [index, detail] of faults.entries())
    if (detail !== undefined) add('args', 'malformed', detail, index);
  if (faults.some((detail) => detail !== undefined)) return;
  const call = encodeCall(fn, args, ZERO_ADDRESS);
  if (!call.ok) add('args', 'function-unsupported', call.detail);
}

/** Only a boolean has an operator and a value by default, and only integers can be ordered. */
function validateComparison(
  type: AbiType,
  { operator, value }: ViewCallParts,
  present: ReadonlySet<string>,
  add: Add,
): void {
  const isBoolean = type.kind === 'bool';
  for (const member of ['operator', 'value'])
    if (!isBoolean && !present.has(member))
      add(member, 'required', `is required for an output of type ${nameOfType(type)}`);
  if (operator !== undefined && operator !== 'eq' && operator !== 'ne' && !isInteger(type))
    add(
      'operator',
      'not-allowed',
      `must be eq or ne for an output of type ${nameOfType(type)}, which has no order`,
    );
  const detail = value === undefined ? undefined : judgeArgument(type, value);
  if (detail !== undefined) add('value', 'malformed', detail);
}

const describeOutputs = ({ outputs }: ViewFunction): string =>
  outputs.map(({ name }, index) => (name === undefined ? String(index) : `${index} (${name})`)).join(', ');
