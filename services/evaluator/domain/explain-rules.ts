import type { RuleDetail } from '#shared/contracts/checks/result.ts';
import { textOfWord } from '#shared/contracts/rules/abi-type.ts';
import {
  type Condition,
  type ContractCondition,
  isComposedRule,
  type SumCondition,
  type TokenCondition,
} from '#shared/contracts/rules/rule.ts';
import { judgeWallets } from './judge-call.ts';
import {
  decimalsOf,
  type JudgeContext,
  judgeRule,
  knownTermsOf,
  UNREAD_CONTEXT,
  UNREAD_PLAN,
} from './judge-rules.ts';
import { type KnownTokens, knownAmount, knownSum, type ReadingOf } from './known-amount.ts';
import type { Outcome } from './outcome.ts';
import { planCall, settle } from './plan-call.ts';
import type { AmountNeeds, ReadPlan, RuleNeeds } from './plan-reads.ts';
import { FRACTION_DIGITS_MAX, formatTokenAmount, PARTS } from './token-amount.ts';

type CallNeeds = Extract<RuleNeeds, { kind: 'call' }>;

/**
 * Explains each verdict: the exact value that was compared, and the required one. Takes the
 * arguments of `judgeRules`.
 *
 * @example
 * explainRules([rule], plan, context);
 * // [{ ruleIndex: 0, outcome: 'granted', observed: '1500.5', required: { min: '1500' } }]
 */
export const explainRules = (
  rules: readonly Condition[],
  { needs }: Pick<ReadPlan, 'needs'>,
  context: JudgeContext,
): RuleDetail[] =>
  rules.map((rule, ruleIndex) => ({ ruleIndex, ...explainRule(rule, needs[ruleIndex], context) }));

/** Explains the rules of a check that could not be evaluated: each is undetermined. */
export const explainUnread = (rules: readonly Condition[]): RuleDetail[] =>
  explainRules(rules, UNREAD_PLAN, UNREAD_CONTEXT);

function explainRule(rule: Condition, needs: RuleNeeds | undefined, context: JudgeContext): RuleDetail {
  const { outcome } = judgeRule(rule, needs, context);
  if (isComposedRule(rule)) {
    const inside = needs?.kind === 'composed' ? needs.rules : [];
    return {
      outcome,
      required: {},
      rules: rule.rules.map((each, index) => explainRule(each, inside[index], context)),
    };
  }
  if (rule.type !== 'CONTRACT') {
    const { minToken: min, maxToken: max } = rule;
    const required = { min, ...(max === undefined ? {} : { max }) };
    if (rule.type === 'SUM') return { outcome, ...explainSum(rule, needs, context), required };
    const amount = needs?.kind === 'amount' ? observedAmount(rule, needs.amount, context) : undefined;
    return { outcome, ...observed(amount), required };
  }
  const called = needs?.kind === 'call' ? needs : undefined;
  const planned = called ?? planCall(rule);
  if ('fault' in planned) return { outcome, required: {} };
  const settled = settle(planned.comparison, called?.time && context.readingOf(called.time));
  const { operator, value } = 'ok' in settled ? planned.comparison : settled;
  return {
    outcome,
    ...observed(called && observedOutput(called, rule, outcome, context.readingOf)),
    required: { operator, value },
  };
}

const observed = (text: string | undefined): { observed?: string } =>
  text === undefined ? {} : { observed: text };

/** The amount, if every read that it is made of is known. */
function observedAmount(
  { chainId }: TokenCondition,
  amount: AmountNeeds,
  context: JudgeContext,
): string | undefined {
  const known = knownAmount(amount, context.readingOf);
  const decimals = decimalsOf(chainId, amount, context);
  return known.fault !== undefined || typeof decimals !== 'number'
    ? undefined
    : formatTokenAmount(known.least, decimals);
}

/** The sum, and each term before its weights. */
function explainSum(
  rule: SumCondition,
  needs: RuleNeeds | undefined,
  context: JudgeContext,
): Pick<RuleDetail, 'observed' | 'rules'> {
  if (needs?.kind !== 'sum') return { rules: rule.rules.map(() => ({})) };
  const terms = knownTermsOf(rule, needs, context);
  return {
    ...observed(textOf(knownSum(terms.map(({ value }) => value)))),
    rules: terms.map(({ amount }) => observed(textOf(amount))),
  };
}

/** Whole tokens, cut after as many digits as a client may write; nothing if the bounds differ. */
const textOf = ({ least, unit, fault }: KnownTokens): string | undefined =>
  fault === undefined ? formatTokenAmount((least * PARTS) / unit, FRACTION_DIGITS_MAX) : undefined;

/** The output of the first wallet that decides the rule as it was decided; a vault that has not
 * delegated does not. */
function observedOutput(
  needs: CallNeeds,
  rule: ContractCondition,
  outcome: Outcome,
  readingOf: ReadingOf,
): string | undefined {
  if (outcome === 'undetermined') return undefined;
  const verdicts = judgeWallets(needs, rule, readingOf);
  const decisive = needs.wallets[verdicts.findIndex((verdict) => verdict.outcome === outcome)];
  const reading = decisive && readingOf(decisive.read);
  return reading?.ok ? textOfWord(needs.comparison.type, reading.value) : undefined;
}
