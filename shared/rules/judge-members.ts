import type { z } from 'zod';
import { describedBy, notKnown } from '#shared/contracts/fault.ts';
import {
  type AbiType,
  ACCOUNT,
  isInteger,
  judgeArgument,
  judgeValue,
  nameOfType,
} from '#shared/contracts/rules/abi-type.ts';
import { ZERO_ADDRESS } from '#shared/contracts/rules/address.ts';
import {
  encodeCall,
  findOutput,
  parseViewFunction,
  type ViewFunction,
} from '#shared/contracts/rules/view-function.ts';
import { compareAmounts, isZeroAmount } from './amount.ts';
import { isObject, type Members } from './validate-rules.ts';

/** What an object of members is: a rule, also one inside of a composed rule; a term of a sum; the
 * weight of a term. */
type Kind = 'rule' | 'term' | 'weight';

/** The members of an object that are judged together. One that is malformed is absent here. */
type Sound = {
  readonly minToken?: string;
  readonly maxToken?: string;
  readonly atLeast?: number;
  readonly rules?: readonly unknown[];
  readonly function?: string;
  readonly args?: readonly string[];
  readonly returns?: string;
  readonly operator?: string;
  readonly value?: string;
};

type Judged = {
  readonly sound: Sound;
  /** Whether a member was sent, well-formed or not. */
  readonly has: (member: string) => boolean;
  /** Adds a fault of a member; its detail is a predicate, such as "is required for ERC20". `index`
   * is that of the faulty entry of a list. */
  readonly add: (member: string, code: string, detail: string, index?: number) => void;
};

/**
 * Makes a schema judge its members together too, after each was judged by itself, and tell which
 * type has a missing member or lacks an unknown one.
 *
 * @param isOfOthers whether some rule or term may have a member
 */
export const judgedTogether = <S extends z.ZodObject>(
  kind: Kind,
  schema: S,
  isOfOthers: (member: string) => boolean,
): S =>
  schema.superRefine(
    (value: unknown, { issues }) => {
      if (!isObject(value)) return;
      const type = kind === 'weight' ? undefined : String(value['type']);
      for (const issue of issues) describeMember(issue, kind, type, isOfOthers);
      const add: Judged['add'] = (member, code, detail, index) => {
        const path = index === undefined ? [member] : [member, index];
        const issue = { code: 'custom', path, input: value[member] } as const;
        issues.push(describedBy(issue, (pointer) => ({ pointer, code, detail })));
      };
      const sound = soundOf(value, issues);
      const judged = { sound, has: (member: string) => Object.hasOwn(value, member), add };
      judgeAmounts(judged);
      judgeAtLeast(judged);
      judgeCall(kind, judged);
    },
    // Also where a member is malformed: every fault is listed.
    { when: () => true },
  );

/** The members without a fault. A list with a faulty entry is not sound; nested rules are judged on
 * their own. */
const soundOf = (members: Members, issues: readonly z.core.$ZodRawIssue[]): Sound => {
  if (issues.length === 0) return members;
  const broken = new Set(
    issues.flatMap(({ path: [member, ...rest] = [] }) =>
      rest.length === 0 || (rest.length === 1 && member !== 'rules') ? [member] : [],
    ),
  );
  return Object.fromEntries(Object.entries(members).filter(([member]) => !broken.has(member)));
};

const COMMON_MEMBERS: ReadonlySet<unknown> = new Set(['type', 'chainId', 'roleId']);
const OF_TERMS: ReadonlySet<string> = new Set(['times', 'per', 'decimals']);

/** Makes an issue of an unknown or missing member describe itself in the words of the type. */
function describeMember(
  issue: z.core.$ZodRawIssue,
  kind: Kind,
  type: string | undefined,
  isOfOthers: (member: string) => boolean,
): void {
  const { path = [] } = issue;
  if (issue.code === 'unrecognized_keys' && path.length === 0) {
    const known = Object.keys((issue.inst as z.ZodObject).shape);
    describedBy(issue, (pointer, member) =>
      type !== undefined && isOfOthers(member)
        ? { pointer, code: 'not-allowed', detail: describeForeign(member, kind, type) }
        : { pointer, code: 'unknown-member', detail: notKnown(known) },
    );
  }
  const isMissing = path.length === 1 && issue.code === 'invalid_type' && issue.input === undefined;
  if (!isMissing || type === undefined || COMMON_MEMBERS.has(path[0])) return;
  const detail = `is required for ${type}${kind === 'term' ? ' inside of a SUM' : ''}`;
  describedBy(issue, (pointer) => ({ pointer, code: 'required', detail }));
}

/** Why a rule must not have a member that others may have. */
function describeForeign(member: string, kind: Kind, type: string): string {
  const isTerm = kind === 'term';
  if (member === 'roleId')
    return `is not allowed inside of a ${isTerm ? 'SUM' : 'composed rule'}: the outermost rule names the role`;
  if (member === 'contractAddress' && type === 'NATIVE')
    return 'is not allowed for NATIVE: a native balance has no contract';
  if (member === 'tokenId') return `is not allowed for ${type}, which has no token ids`;
  if (isTerm && (member === 'minToken' || member === 'maxToken'))
    return 'is not allowed inside of a SUM: the sum has the bounds';
  if (!isTerm && OF_TERMS.has(member)) return 'is allowed only inside of a SUM';
  return `is not allowed for ${type}${isTerm ? ' inside of a SUM' : ''}`;
}

function judgeAmounts({ sound: { minToken, maxToken }, has, add }: Judged): void {
  if (minToken !== undefined && isZeroAmount(minToken) && !has('maxToken'))
    add(
      'minToken',
      'min-token-zero',
      'must be above zero unless maxToken is given: a minimum of zero alone would always grant',
    );
  const least = has('minToken') ? minToken : '1';
  if (least !== undefined && maxToken !== undefined && compareAmounts(maxToken, least) < 0)
    add('maxToken', 'out-of-range', 'must not be below minToken ("1" by default)');
}

function judgeAtLeast({ sound: { atLeast, rules }, add }: Judged): void {
  if (atLeast !== undefined && rules !== undefined && atLeast > rules.length)
    add('atLeast', 'out-of-range', `must be at most ${rules.length}, the number of rules inside`);
}

/**
 * Judges the call of a `CONTRACT` rule, a term or a weight, and what is done with its output.
 * Nothing is said of the arguments and the value of a function that is refused.
 */
function judgeCall(kind: Kind, judged: Judged): void {
  const { sound, has, add } = judged;
  const parsed = sound.function === undefined ? undefined : parseViewFunction(sound.function);
  if (!parsed?.ok) return;
  judgeArguments(parsed.fn, judged);
  if (kind === 'weight') judgeWeightArguments(parsed.fn, judged);
  if (has('returns') && sound.returns === undefined) return;
  const output = findOutput(parsed.fn, sound.returns);
  if (!output.ok) add('returns', output.code, output.detail);
  else if (kind === 'rule') judgeComparison(output.type, judged);
  else if (output.type.kind !== 'uint')
    add(
      'function',
      'function-unsupported',
      `must return an unsigned integer, which is an amount; its output is of type ${nameOfType(output.type)}`,
    );
}

/** A weight is read once for all wallets. */
function judgeWeightArguments({ inputs }: ViewFunction, { sound: { args = [] }, add }: Judged): void {
  for (const [index, text] of args.entries())
    if (text === ACCOUNT && inputs[index]?.type.kind === 'address')
      add('args', 'not-allowed', `must not be "${ACCOUNT}": a weight is the same for all wallets`, index);
}

function judgeArguments(fn: ViewFunction, { sound: { args }, has, add }: Judged): void {
  const expected = fn.inputs.length;
  if (args === undefined) {
    if (!has('args') && expected > 0)
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
function judgeComparison(type: AbiType, { sound: { operator, value }, has, add }: Judged): void {
  const isBoolean = type.kind === 'bool';
  for (const member of ['operator', 'value'])
    if (!isBoolean && !has(member))
      add(member, 'required', `is required for an output of type ${nameOfType(type)}`);
  if (operator !== undefined && operator !== 'eq' && operator !== 'ne' && !isInteger(type))
    add(
      'operator',
      'not-allowed',
      `must be eq or ne for an output of type ${nameOfType(type)}, which has no order`,
    );
  const detail = value === undefined ? undefined : judgeValue(type, value);
  if (detail !== undefined) add('value', 'malformed', detail);
}
