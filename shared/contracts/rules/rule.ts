import { z } from 'zod';

/** Rules about the holdings of a wallet. */
export const TokenRuleType = z.enum(['ERC20', 'ERC721', 'ERC1155', 'NATIVE']);
export type TokenRuleType = z.infer<typeof TokenRuleType>;

/** Rules made of other rules. */
export const ComposedRuleType = z.enum(['ALL', 'ANY', 'NONE', 'AT_LEAST']);
export type ComposedRuleType = z.infer<typeof ComposedRuleType>;

/** Every type of a rule. Any other is refused by the gateway and never judged. */
export const RuleType = z.enum([...TokenRuleType.options, 'CONTRACT', ...ComposedRuleType.options]);
export type RuleType = z.infer<typeof RuleType>;

/** How to treat a rule that could not be read. */
export const OnUndetermined = z.enum(['omit', 'deny', 'fail']);
export type OnUndetermined = z.infer<typeof OnUndetermined>;

export const BlockTag = z.enum(['latest', 'safe', 'finalized']);
export type BlockTag = z.infer<typeof BlockTag>;

export const Operator = z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']);
export type Operator = z.infer<typeof Operator>;

const ChainId = z.number().int().positive();

/**
 * A rule about a balance, as it travels: validated by the gateway, amounts still decimal text in
 * whole tokens (only the contract knows its decimals), addresses as the client wrote them.
 */
const TokenCondition = z.object({
  type: TokenRuleType,
  chainId: ChainId,
  /** Absent for `NATIVE` alone. */
  contractAddress: z.string().optional(),
  minToken: z.string(),
  maxToken: z.string().optional(),
  /** Ids and ranges, for example `1,2,42-69`. */
  tokenId: z.string().optional(),
});
export type TokenCondition = z.infer<typeof TokenCondition>;

/** A rule about one output of a view function; `services/gateway/docs/pages/rules.md` has the
 * defaults. */
const ContractCondition = z.object({
  type: z.literal('CONTRACT'),
  chainId: ChainId,
  contractAddress: z.string(),
  /** A human-readable Solidity signature. */
  function: z.string(),
  /** One text per input; `$account` stands for the wallet. */
  args: z.array(z.string()).optional(),
  /** Name or index of the output to compare. */
  returns: z.string().optional(),
  operator: Operator.optional(),
  value: z.string().optional(),
  onRevert: z.enum(['undetermined', 'deny']).optional(),
  wallets: z.enum(['any', 'all']).optional(),
});
export type ContractCondition = z.infer<typeof ContractCondition>;

/** A condition without the role that it grants: a rule, or a rule inside of a composed rule. */
export type Condition = TokenCondition | ContractCondition | ComposedCondition;
export type ComposedCondition = {
  readonly type: ComposedRuleType;
  readonly rules: readonly Condition[];
  /** For `AT_LEAST` alone. */
  readonly atLeast?: number | undefined;
};

const ComposedCondition = z.object({
  type: ComposedRuleType,
  get rules(): z.ZodType<readonly Condition[]> {
    return z.array(Condition);
  },
  atLeast: z.number().int().positive().optional(),
});
const Condition: z.ZodType<Condition> = z.discriminatedUnion('type', [
  TokenCondition,
  ContractCondition,
  ComposedCondition,
]);

const named = { roleId: z.string() };

/** A rule about a balance and the role that it grants. */
export const TokenRule = TokenCondition.extend(named);
export type TokenRule = z.infer<typeof TokenRule>;

/** A rule of any type: a condition and the role that it grants. */
export const Rule = z.discriminatedUnion('type', [
  TokenRule,
  ContractCondition.extend(named),
  ComposedCondition.extend(named),
]);
export type Rule = z.infer<typeof Rule>;

export const isTokenRule = <R extends Condition>(rule: R): rule is Extract<R, { type: TokenRuleType }> =>
  rule.type === 'ERC20' || rule.type === 'ERC721' || rule.type === 'ERC1155' || rule.type === 'NATIVE';

export const isComposedRule = <R extends Condition>(
  rule: R,
): rule is Extract<R, { type: ComposedRuleType }> => 'rules' in rule;

/** A simple rule: a leaf of a composed rule, or a rule by itself. */
export type SimpleCondition = Exclude<Condition, ComposedCondition>;

/** The simple rules inside of a rule, in the order in which the client wrote them; a simple rule is
 * its only one. */
export const simpleRulesOf = (rule: Condition): SimpleCondition[] =>
  isComposedRule(rule) ? rule.rules.flatMap(simpleRulesOf) : [rule];

/** How many rules there are: composed ones, and those inside of them, count like any other. */
export const countRules = (rules: readonly Condition[]): number =>
  rules.reduce((count, rule) => count + 1 + (isComposedRule(rule) ? countRules(rule.rules) : 0), 0);

/** By chain id in decimal. */
const BlockNumbers = z.record(z.string(), z.number().int().nonnegative());

export const Consistency = z.object({
  blockTag: BlockTag.default('latest'),
  /** Every read of that chain is at this block or later. */
  minBlock: BlockNumbers.default({}),
  /** Every read of that chain is at exactly this block. */
  atBlock: BlockNumbers.optional(),
});
export type Consistency = z.infer<typeof Consistency>;

/** The version of a stored rule set that a check was resolved to. */
export const RuleSetReference = z.object({
  id: z.string(),
  version: z.number().int().positive(),
  /** `sha-256=:<base64>:` over the canonical JSON (RFC 8785) of `{ onUndetermined, rules }` as they
   * were sent. */
  digest: z.string(),
});
export type RuleSetReference = z.infer<typeof RuleSetReference>;
