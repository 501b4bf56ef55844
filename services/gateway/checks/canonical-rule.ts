import { type AbiType, isHexadecimal } from '#shared/contracts/rules/abi-type.ts';
import { findOutput, parseViewFunction } from '#shared/contracts/rules/view-function.ts';
import type { ConditionBody, TermBody, WeightBody } from '#shared/rules/rule-body.ts';

/** Members that are accepted and ignored. */
const IGNORED = { name: undefined, description: undefined } as const;

/** A rule's values with every default, each in one form. */
export const canonicalRule = (body: ConditionBody): unknown => ({ ...canonicalValues(body), ...IGNORED });

function canonicalValues(body: ConditionBody): object {
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
      ...canonicalCall({ ...body, value: body.value ?? 'true' }),
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
    ...IGNORED,
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

type CallBody = Pick<WeightBody, 'contractAddress' | 'function' | 'args' | 'returns'> & {
  readonly value?: string;
};

/** The members that the types of the function decide about; they stay as they are if it cannot be
 * parsed. */
function canonicalCall({ contractAddress, function: signature, args = [], returns, value }: CallBody) {
  const parsed = parseViewFunction(signature);
  const output = parsed.ok ? findOutput(parsed.fn, returns) : parsed;
  const inputs = parsed.ok ? parsed.fn.inputs : [];
  return {
    contractAddress: contractAddress.toLowerCase(),
    args: args.map((text, index) => canonicalText(inputs[index]?.type, text)),
    returns: output.ok ? output.word : returns,
    ...(value === undefined ? {} : { value: canonicalText(output.ok ? output.type : undefined, value) }),
  };
}

const canonicalText = (type: AbiType | undefined, text: string): string =>
  type !== undefined && isHexadecimal(type) ? text.toLowerCase() : text;
