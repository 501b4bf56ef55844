import { z } from 'zod';
import { Operator } from '#shared/contracts/rules/rule.ts';
import { INPUTS_MAX } from '#shared/contracts/rules/view-function.ts';
import { Address, Amount, Factor, FunctionText, Label, RoleId, TokenId, WholeAmount } from './body-texts.ts';
import { judgedTogether } from './judge-members.ts';

export const RULES_MAX = 100;
/** For asynchronous checks of the enterprise tier. */
export const RULES_MAX_ENTERPRISE = 1_000;
const SUM_TERMS_MAX = 16;
/** So that a unit of the output is no smaller than the smallest fraction of 78 digits. */
const OUTPUT_DECIMALS_MAX = 77;

/** The rules of a request body: one strict schema per type, so that each type has exactly the
 * members it can use. */

/** Zod's own integers abort the checks of the object that holds them, and not every fault would be
 * listed. */
const integer = z
  .number()
  .max(Number.MAX_SAFE_INTEGER)
  .check(({ value: input, issues }) => {
    if (!Number.isInteger(input)) issues.push({ code: 'invalid_type', expected: 'int', input });
  })
  .meta({ type: 'integer' });

const chainId = integer.positive();
const labels = {
  name: Label.optional().meta({ description: 'For your own use.' }),
  description: Label.optional().meta({ description: 'For your own use.' }),
};
const bounds = {
  minToken: Amount.optional().meta({ description: 'Minimum, in whole tokens; `"1"` if absent.' }),
  maxToken: Amount.optional().meta({ description: 'Maximum, in whole tokens.' }),
};
const wholeBounds = {
  minToken: WholeAmount.optional().meta({ description: 'Minimum number; `"1"` if absent.' }),
  maxToken: WholeAmount.optional().meta({ description: 'Maximum number.' }),
};

/** Whether some type of rule or term has a member: on another type such a member is not allowed,
 * any other is unknown. */
const isOfOthers = (member: string): boolean => RULE_MEMBERS.has(member);
const rule = <Shape extends z.ZodRawShape>(shape: Shape) =>
  judgedTogether('rule', z.strictObject(shape), isOfOthers);
const term = <Shape extends z.ZodRawShape>(shape: Shape) =>
  judgedTogether('term', z.strictObject({ ...shape, ...weights }), isOfOthers);

const native = { type: z.literal('NATIVE'), chainId };
const erc20 = { type: z.literal('ERC20'), chainId, contractAddress: Address };
const erc721 = {
  type: z.literal('ERC721'),
  chainId,
  contractAddress: Address,
  tokenId: TokenId.optional(),
};
const erc1155 = { type: z.literal('ERC1155'), chainId, contractAddress: Address, tokenId: TokenId };
const Native = rule({ ...native, ...bounds, ...labels });
const Erc20 = rule({ ...erc20, ...bounds, ...labels });
const Erc721 = rule({ ...erc721, ...wholeBounds, ...labels });
const Erc1155 = rule({ ...erc1155, ...wholeBounds, ...labels });

const call = {
  contractAddress: Address,
  function: FunctionText,
  // Of a list that is too long for any function, the length alone is judged, with the function.
  args: z
    .preprocess(
      (list: string[]) =>
        Array.isArray(list) && list.length > INPUTS_MAX ? Array(INPUTS_MAX + 1).fill('') : list,
      z.array(z.string()),
    )
    .optional()
    .meta({
      maxItems: INPUTS_MAX,
      description: 'One text per input. `$account` stands for the account being checked.',
      example: ['$account', '7'],
    }),
  returns: z
    .string()
    .optional()
    .meta({
      description:
        'Name or zero-based index of the output to compare; the first if absent. Within a tuple or a fixed array a path ' +
        'of names and indices, such as `position.liquidity` or `0.2`.',
      example: 'tier',
    }),
};
const callOfRule = { type: z.literal('CONTRACT'), chainId, ...call };
const Contract = rule({
  ...callOfRule,
  operator: Operator.optional().meta({
    description: 'Default `eq` for a boolean output; otherwise required.',
  }),
  value: z
    .string()
    .optional()
    .meta({
      description:
        "Text of the output's type, or `$account`. For integers also `$timestamp`, `$timestamp+60` or `$timestamp-86400`: " +
        'the time of the block that was read, in seconds. Default `true` for a boolean output; otherwise required.',
      example: '2',
    }),
  onRevert: z.enum(['undetermined', 'deny']).optional().meta({
    description: 'The outcome of a revert with data: `deny` for functions that revert for non-members.',
  }),
  wallets: z
    .enum(['any', 'all'])
    .optional()
    .meta({ description: 'Which of several wallets must satisfy the rule; `any` if absent.' }),
  ...labels,
});

const decimals = integer.min(0).max(OUTPUT_DECIMALS_MAX);
const Weight = judgedTogether(
  'weight',
  z.strictObject({
    ...call,
    decimals: decimals.optional().meta({ description: 'Decimals of the output; 0 if absent.', example: 18 }),
  }),
  isOfOthers,
).meta({
  id: 'Weight',
  description:
    "An unsigned output of a view function on the term's chain. It is the same for all wallets: no argument is " +
    '`$account`.',
});
const weights = {
  times: z.union([Factor, Weight]).optional().meta({
    description: 'A factor: decimal text, or a call.',
    example: '1.5',
  }),
  per: Weight.optional().meta({ description: 'A divisor: a call.' }),
};
const TERMS = {
  ERC20: term({ ...erc20, ...labels }).meta({ id: 'Erc20Term' }),
  ERC721: term({ ...erc721, ...labels }).meta({ id: 'Erc721Term' }),
  ERC1155: term({ ...erc1155, ...labels }).meta({ id: 'Erc1155Term' }),
  NATIVE: term({ ...native, ...labels }).meta({ id: 'NativeTerm' }),
  CONTRACT: term({
    ...callOfRule,
    decimals: decimals.meta({ description: 'Decimals of the output.', example: 18 }),
    ...labels,
  }).meta({ id: 'ContractTerm' }),
};
const Term = z
  .discriminatedUnion('type', [TERMS.ERC20, TERMS.ERC721, TERMS.ERC1155, TERMS.NATIVE, TERMS.CONTRACT])
  .meta({
    id: 'Term',
    description: 'An amount of a sum: a holding in whole tokens, or an unsigned output of a view function.',
  });
/** Zod's own bound of a list aborts the checks of the objects around it, and not every fault would
 * be listed. */
const Terms = z
  .preprocess((list: z.input<typeof Term>[], { issues }) => {
    const bound = { code: 'too_big', origin: 'array', maximum: SUM_TERMS_MAX, inclusive: true } as const;
    if (Array.isArray(list) && list.length > SUM_TERMS_MAX) issues.push({ ...bound, input: list });
    return list;
  }, z.array(Term).min(1))
  .meta({ maxItems: SUM_TERMS_MAX, description: 'What is added. Each term counts as a rule.' });
const Sum = rule({
  type: z.literal('SUM'),
  ...bounds,
  rules: Terms,
  ...labels,
});

const AllOrAny = rule({
  type: z.enum(['ALL', 'ANY', 'NONE']),
  get rules() {
    return ConditionBodies;
  },
  ...labels,
});
const AtLeast = rule({
  type: z.literal('AT_LEAST'),
  atLeast: integer
    .positive()
    .meta({ description: 'How many of the rules must be granted; at most their number.' }),
  get rules() {
    return ConditionBodies;
  },
  ...labels,
});

type LeafBody =
  | z.infer<typeof Native>
  | z.infer<typeof Erc20>
  | z.infer<typeof Erc721>
  | z.infer<typeof Erc1155>
  | z.infer<typeof Contract>
  | z.infer<typeof Sum>;
export type TermBody = z.infer<typeof Term>;
export type WeightBody = z.infer<typeof Weight>;
type Labels = { readonly name?: string | undefined; readonly description?: string | undefined };
/** A rule inside of a composed one: it names no role. */
export type ConditionBody =
  | LeafBody
  | ({ type: 'ALL' | 'ANY' | 'NONE'; rules: ConditionBody[] } & Labels)
  | ({ type: 'AT_LEAST'; atLeast: number; rules: ConditionBody[] } & Labels);

const ConditionBody: z.ZodType<ConditionBody, ConditionBody> = z
  .discriminatedUnion('type', [
    Erc20.meta({ id: 'Erc20Condition' }),
    Erc721.meta({ id: 'Erc721Condition' }),
    Erc1155.meta({ id: 'Erc1155Condition' }),
    Native.meta({ id: 'NativeCondition' }),
    Contract.meta({ id: 'ContractCondition' }),
    Sum.meta({ id: 'SumCondition' }),
    AllOrAny.meta({ id: 'ComposedCondition' }),
    AtLeast.meta({ id: 'AtLeastCondition' }),
  ])
  .meta({ id: 'Condition', description: 'A rule nested in a composed rule; it names no role.' });
const ConditionBodies: z.ZodType<ConditionBody[], ConditionBody[]> = z
  .array(ConditionBody)
  .min(1)
  .meta({ id: 'Conditions' });

const roleId = { roleId: RoleId };
const RULES = {
  ERC20: Erc20.extend(roleId).meta({ id: 'Erc20Rule' }),
  ERC721: Erc721.extend(roleId).meta({ id: 'Erc721Rule' }),
  ERC1155: Erc1155.extend(roleId).meta({ id: 'Erc1155Rule' }),
  NATIVE: Native.extend(roleId).meta({ id: 'NativeRule' }),
  CONTRACT: Contract.extend(roleId).meta({ id: 'ContractRule' }),
  SUM: Sum.extend(roleId).meta({ id: 'SumRule' }),
  composed: AllOrAny.extend(roleId).meta({ id: 'ComposedRule' }),
  AT_LEAST: AtLeast.extend(roleId).meta({ id: 'AtLeastRule' }),
};

export const RuleBody = z
  .discriminatedUnion('type', [
    RULES.ERC20,
    RULES.ERC721,
    RULES.ERC1155,
    RULES.NATIVE,
    RULES.CONTRACT,
    RULES.SUM,
    RULES.composed,
    RULES.AT_LEAST,
  ])
  .meta({
    id: 'Rule',
    description: 'Composed rules nest at most 4 deep; the simple rules inside are not counted.',
  });
export type RuleBody = z.infer<typeof RuleBody>;

const RULE_MEMBERS: ReadonlySet<string> = new Set(
  [...Object.values(RULES), ...Object.values(TERMS)].flatMap((schema) => Object.keys(schema.shape)),
);

/** The number of rules, and how deep they nest, are checked before this schema sees them. */
export const RuleBodies = z
  .array(RuleBody)
  .min(1)
  .meta({
    maxItems: RULES_MAX_ENTERPRISE,
    description:
      'Several rules may name one role. The role is held if any of them is granted, undetermined if none is granted ' +
      'and any is undetermined, and otherwise not held.',
  });
