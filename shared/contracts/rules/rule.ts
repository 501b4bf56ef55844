import { z } from 'zod';

/** Rules about the holdings of a wallet. */
export const TokenRuleType = z.enum(['ERC20', 'ERC721', 'ERC1155', 'NATIVE']);
export type TokenRuleType = z.infer<typeof TokenRuleType>;

export const ComposedRuleType = z.enum(['ALL', 'ANY', 'NONE', 'AT_LEAST']);
export type ComposedRuleType = z.infer<typeof ComposedRuleType>;

/** Every type of a rule. Any other is refused by the gateway and never judged. */
export const RuleType = z.enum([...TokenRuleType.options, 'CONTRACT', 'SUM', ...ComposedRuleType.options]);
export type RuleType = z.infer<typeof RuleType>;

/** How to treat a rule that could not be read. */
export const OnUndetermined = z.enum(['omit', 'deny', 'fail']).meta({ id: 'OnUndetermined' });
export type OnUndetermined = z.infer<typeof OnUndetermined>;

export const BlockTag = z.enum(['latest', 'safe', 'finalized']).meta({ id: 'BlockTag' });
export type BlockTag = z.infer<typeof BlockTag>;

export const Operator = z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']);
export type Operator = z.infer<typeof Operator>;

const ChainId = z.number().int().positive();
/** The minimum of a rule that names none: whole tokens. */
const MIN_TOKEN = '1';

/**
 * A rule about a balance, as it travels: validated by the gateway, amounts still decimal text in
 * whole tokens (only the contract knows its decimals), addresses as the client wrote them.
 */
const TokenCondition = z.object({
  type: TokenRuleType,
  chainId: ChainId,
  /** Absent for `NATIVE` alone. */
  contractAddress: z.string().optional(),
  minToken: z.string().default(MIN_TOKEN),
  maxToken: z.string().optional(),
  /** Ids and ranges, for example `1,2,42-69`. */
  tokenId: z.string().optional(),
});
export type TokenCondition = z.infer<typeof TokenCondition>;

/** What a token rule, or a term of a sum, asks for; its bounds are elsewhere. */
const TokenAmount = TokenCondition.omit({ minToken: true, maxToken: true });
export type TokenAmount = z.infer<typeof TokenAmount>;

const ViewCall = z.object({
  contractAddress: z.string(),
  /** A human-readable Solidity signature. */
  function: z.string(),
  /** One text per input; `$account` stands for the wallet. */
  args: z.array(z.string()).optional(),
  /** Name or index of the output. */
  returns: z.string().optional(),
});
export type ViewCall = z.infer<typeof ViewCall>;

/** A rule about one output of a view function; `services/gateway/docs/pages/rules.md` has the
 * defaults. */
const ContractCondition = ViewCall.extend({
  type: z.literal('CONTRACT'),
  chainId: ChainId,
  operator: Operator.optional(),
  value: z.string().optional(),
  onRevert: z.enum(['undetermined', 'deny']).optional(),
  wallets: z.enum(['any', 'all']).optional(),
});
export type ContractCondition = z.infer<typeof ContractCondition>;

/** An output with its decimals, read on its term's chain: the same for all wallets. */
const Weight = ViewCall.extend({ decimals: z.number().int().nonnegative().optional() });
export type Weight = z.infer<typeof Weight>;

const weights = {
  /** A factor: decimal text, or the output of a call. */
  times: z.union([z.string(), Weight]).optional(),
  /** A divisor. */
  per: Weight.optional(),
};

/** An amount that is a part of a sum: a holding, or an unsigned output of a view function. */
const SumTerm = z.discriminatedUnion('type', [
  TokenAmount.extend(weights),
  ViewCall.extend({
    type: z.literal('CONTRACT'),
    chainId: ChainId,
    decimals: z.number().int().nonnegative(),
    ...weights,
  }),
]);
export type SumTerm = z.infer<typeof SumTerm>;

/** A rule about the sum of several amounts, in whole tokens. */
const SumCondition = z.object({
  type: z.literal('SUM'),
  minToken: z.string().default(MIN_TOKEN),
  maxToken: z.string().optional(),
  rules: z.array(SumTerm),
});
export type SumCondition = z.infer<typeof SumCondition>;

const ComposedCondition = z.object({
  type: ComposedRuleType,
  get rules() {
    return z.array(Condition);
  },
  /** For `AT_LEAST` alone. */
  atLeast: z.number().int().positive().optional(),
});
export type ComposedCondition = z.infer<typeof ComposedCondition>;

/** A condition without the role that it grants: a rule, or a rule inside of a composed rule. */
const Condition = z.discriminatedUnion('type', [
  TokenCondition,
  ContractCondition,
  SumCondition,
  ComposedCondition,
]);
export type Condition = z.infer<typeof Condition>;

const named = { roleId: z.string() };

/** A rule about a balance and the role that it grants. */
export const TokenRule = TokenCondition.extend(named);
export type TokenRule = z.infer<typeof TokenRule>;

/** A rule of any type: a condition and the role that it grants. */
export const Rule = z.discriminatedUnion('type', [
  TokenRule,
  ContractCondition.extend(named),
  SumCondition.extend(named),
  ComposedCondition.extend(named),
]);
export type Rule = z.infer<typeof Rule>;

export const isTokenRule = <R extends { readonly type: string }>(
  rule: R,
): rule is Extract<R, { type: TokenRuleType }> =>
  rule.type === 'ERC20' || rule.type === 'ERC721' || rule.type === 'ERC1155' || rule.type === 'NATIVE';

export const isComposedRule = <R extends Condition>(
  rule: R,
): rule is Extract<R, { type: ComposedRuleType }> => 'rules' in rule && rule.type !== 'SUM';

/** What reads something by itself: a token rule, a `CONTRACT` rule, or a term of a sum. */
export type SimpleCondition = TokenCondition | ContractCondition | SumTerm;

/** The simple rules and terms inside of a rule, in the order in which the client wrote them; a
 * simple rule is its only one. */
export function simpleRulesOf(rule: Condition): SimpleCondition[] {
  if (rule.type === 'SUM') return rule.rules;
  return isComposedRule(rule) ? rule.rules.flatMap(simpleRulesOf) : [rule];
}

/** The sums inside of a rule; a sum is its only one. */
const sumsOf = (rule: Condition): SumCondition[] => {
  if (rule.type === 'SUM') return [rule];
  return isComposedRule(rule) ? rule.rules.flatMap(sumsOf) : [];
};

/**
 * The chains of the sums over several chains, which are read at one instant: a token that moves
 * from one to another must not count twice.
 */
export function chainsAtOneInstant(rules: readonly Condition[]): ReadonlySet<number> {
  const chains = rules
    .flatMap(sumsOf)
    .map(({ rules: terms }) => new Set(terms.map(({ chainId }) => chainId)));
  return new Set(chains.filter(({ size }) => size > 1).flatMap((ofSum) => [...ofSum]));
}

/** How many rules there are: composed ones and sums, and those inside of them, count like any
 * other. */
export const countRules = (rules: readonly (Condition | SumTerm)[]): number =>
  rules.reduce((count, rule) => count + 1 + ('rules' in rule ? countRules(rule.rules) : 0), 0);

/** By chain id in decimal. */
export const BlockNumbers = z.record(z.string(), z.number().int().nonnegative());

export const Consistency = z.object({
  blockTag: BlockTag.default('latest'),
  /** Every read of that chain is at this block or later. */
  minBlock: BlockNumbers.default({}),
  /** Every read of that chain is at exactly this block. */
  atBlock: BlockNumbers.optional(),
});
export type Consistency = z.infer<typeof Consistency>;

/** The version of a stored rule set that a check was resolved to. */
export const RuleSetReference = z
  .object({
    id: z.string(),
    version: z.number().int().positive(),
    /** `sha-256=:<base64>:` over the canonical JSON (RFC 8785) of `{ onUndetermined, rules }` as they
     * were sent. */
    digest: z.string(),
  })
  .meta({ id: 'RuleSetReference' });
export type RuleSetReference = z.infer<typeof RuleSetReference>;
