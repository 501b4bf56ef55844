import { z } from 'zod';
import { Operator } from '#shared/contracts/rules/rule.ts';
import { INPUTS_MAX } from '#shared/contracts/rules/view-function.ts';
import { Address, Amount, Factor, Label, RoleId, WholeAmount } from './body-texts.ts';

export const RULES_MAX = 100;
/** For asynchronous checks of the enterprise tier. */
export const RULES_MAX_ENTERPRISE = 1_000;
const SUM_TERMS_MAX = 16;
/** So that a unit of the output is no smaller than the smallest fraction of 78 digits. */
const OUTPUT_DECIMALS_MAX = 77;

/** The rules of a request body: one strict schema per type, so that each type has exactly the
 * members it can use. */

const chainId = z.number().int().positive();
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

const ID = '(0|[1-9][0-9]{0,77})';
/** Its grammar is checked by `validateRule`. */
const TokenId = z.string().meta({
  pattern: `^${ID}(-${ID})?(,${ID}(-${ID})?)*$`,
  description: 'Ids and ranges without spaces; at most 256 ids after expansion.',
  example: '1,2,42-69',
});

const Native = z.strictObject({ type: z.literal('NATIVE'), chainId, ...bounds, ...labels });
const Erc20 = z.strictObject({
  type: z.literal('ERC20'),
  chainId,
  contractAddress: Address,
  ...bounds,
  ...labels,
});
const Erc721 = z.strictObject({
  type: z.literal('ERC721'),
  chainId,
  contractAddress: Address,
  tokenId: TokenId.optional(),
  ...wholeBounds,
  ...labels,
});
const Erc1155 = z.strictObject({
  type: z.literal('ERC1155'),
  chainId,
  contractAddress: Address,
  tokenId: TokenId,
  ...wholeBounds,
  ...labels,
});

/** Function, arguments and output are checked together by `validateViewCall`. */
const call = {
  contractAddress: Address,
  function: z.string().meta({
    description: 'One human-readable signature of a view or pure function, at most 512 characters.',
    example: 'function tierOf(address member, uint256 club) view returns (uint8 tier, bool active)',
  }),
  args: z
    .array(z.string())
    .max(INPUTS_MAX)
    .optional()
    .meta({
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
const Contract = z.strictObject({
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

const decimals = z.number().int().min(0).max(OUTPUT_DECIMALS_MAX);
const Weight = z
  .strictObject({
    ...call,
    decimals: decimals.optional().meta({ description: 'Decimals of the output; 0 if absent.', example: 18 }),
  })
  .meta({
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
const isBound = { minToken: true, maxToken: true } as const;
const TERMS = {
  ERC20: Erc20.omit(isBound).extend(weights).meta({ id: 'Erc20Term' }),
  ERC721: Erc721.omit(isBound).extend(weights).meta({ id: 'Erc721Term' }),
  ERC1155: Erc1155.omit(isBound).extend(weights).meta({ id: 'Erc1155Term' }),
  NATIVE: Native.omit(isBound).extend(weights).meta({ id: 'NativeTerm' }),
  CONTRACT: z
    .strictObject({
      ...callOfRule,
      decimals: decimals.meta({ description: 'Decimals of the output.', example: 18 }),
      ...weights,
      ...labels,
    })
    .meta({ id: 'ContractTerm' }),
};
const Term = z
  .discriminatedUnion('type', [TERMS.ERC20, TERMS.ERC721, TERMS.ERC1155, TERMS.NATIVE, TERMS.CONTRACT])
  .meta({
    id: 'Term',
    description: 'An amount of a sum: a holding in whole tokens, or an unsigned output of a view function.',
  });
const Sum = z.strictObject({
  type: z.literal('SUM'),
  ...bounds,
  rules: z.array(Term).min(1).max(SUM_TERMS_MAX).meta({
    description: 'What is added. Each term counts as a rule.',
  }),
  ...labels,
});

const AllOrAny = z.strictObject({
  type: z.enum(['ALL', 'ANY', 'NONE']),
  get rules() {
    return ConditionBodies;
  },
  ...labels,
});
const AtLeast = z.strictObject({
  type: z.literal('AT_LEAST'),
  atLeast: z
    .number()
    .int()
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

/** Which members some type of rule or term has: on another type such a member is not allowed, any
 * other is unknown. */
export const RULE_MEMBERS: ReadonlySet<string> = new Set(
  [...Object.values(RULES), ...Object.values(TERMS)].flatMap((schema) => Object.keys(schema.shape)),
);

/** Where the members of a rule stand: the outermost rule alone names a role. */
export type Place = 'outermost' | 'nested' | 'term' | 'weight';

/** The members that a rule, a term or a weight may have; `undefined` for an unknown type. */
export function membersAt(place: Place, type: string): readonly string[] | undefined {
  if (place === 'weight') return Object.keys(Weight.shape);
  const schemas = Object.values(place === 'term' ? TERMS : RULES);
  const schema = schemas.find(({ shape }) => shape.type.safeParse(type).success);
  return schema && Object.keys(schema.shape).filter((member) => place !== 'nested' || member !== 'roleId');
}

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
