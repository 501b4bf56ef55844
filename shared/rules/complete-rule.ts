import { type AbiType, isHexadecimal } from '#shared/contracts/rules/abi-type.ts';
import type { Condition, Rule, SumTerm } from '#shared/contracts/rules/rule.ts';
import { findOutput, parseViewFunction } from '#shared/contracts/rules/view-function.ts';
import type { ConditionBody, RuleBody, TermBody, WeightBody } from './rule-body.ts';

/** A rule as it travels: with its defaults, and without the members that are only for the
 * client. */
export function ruleOf(body: RuleBody): Rule {
  const { roleId, ...condition } = body;
  return { ...conditionOf(condition), roleId } as Rule;
}

type ContractBody = Extract<ConditionBody, { type: 'CONTRACT' }>;
function conditionOf(body: ConditionBody): Condition {
  const { name: _name, description: _description, ...condition } = body;
  if (condition.type === 'SUM')
    return { ...condition, minToken: condition.minToken ?? '1', rules: condition.rules.map(termOf) };
  if ('rules' in condition) return { ...condition, rules: condition.rules.map(conditionOf) };
  if (condition.type === 'CONTRACT') return condition;
  return { ...condition, minToken: condition.minToken ?? '1' };
}

const termOf = ({ name: _name, description: _description, ...term }: TermBody): SumTerm => term;

/** A rule's values with every default, each in one form. */
export function canonicalRule(body: ConditionBody): unknown {
  if (body.type === 'SUM')
    return { ...body, minToken: body.minToken ?? '1', rules: body.rules.map(canonicalTerm) };
  if ('rules' in body) return { ...body, rules: body.rules.map(canonicalRule) };
  if (body.type === 'CONTRACT')
    return {
      // That of a boolean output: no other has a default.
      operator: 'eq',
      onRevert: 'undetermined',
      wallets: 'any',
      ...body,
      ...canonicalCall(body),
      value: canonicalValue(body),
    };
  return { ...body, minToken: body.minToken ?? '1', contractAddress: addressOf(body) };
}

function canonicalTerm({ times, per, ...term }: TermBody): unknown {
  const target =
    term.type === 'CONTRACT'
      ? { ...term, ...canonicalCall(term) }
      : { ...term, contractAddress: addressOf(term) };
  return {
    ...target,
    times: typeof times === 'object' ? canonicalWeight(times) : times,
    per: per && canonicalWeight(per),
  };
}

const canonicalWeight = (weight: WeightBody): unknown => ({
  ...weight,
  ...canonicalCall(weight),
  decimals: weight.decimals ?? 0,
});

const addressOf = (body: object): string | null =>
  'contractAddress' in body ? String(body.contractAddress).toLowerCase() : null;

type CallBody = Pick<WeightBody, 'contractAddress' | 'function' | 'args' | 'returns'>;

/** The members that the types of the function decide about; they stay as they are if it cannot be
 * parsed. */
function canonicalCall({ contractAddress, function: signature, args = [], returns }: CallBody) {
  const parsed = parseViewFunction(signature);
  const called = { contractAddress: contractAddress.toLowerCase() };
  if (!parsed.ok) return { ...called, args, returns };
  const output = findOutput(parsed.fn, returns);
  return {
    ...called,
    args: args.map((text, index) => canonicalText(parsed.fn.inputs[index]?.type, text)),
    returns: output.ok ? output.word : returns,
  };
}

function canonicalValue({ function: signature, returns, value = 'true' }: ContractBody): string {
  const parsed = parseViewFunction(signature);
  const output = parsed.ok ? findOutput(parsed.fn, returns) : parsed;
  return canonicalText(output.ok ? output.type : undefined, value);
}

const canonicalText = (type: AbiType | undefined, text: string): string =>
  type !== undefined && isHexadecimal(type) ? text.toLowerCase() : text;
