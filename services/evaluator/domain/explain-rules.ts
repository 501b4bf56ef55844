import type { RuleDetail } from '#shared/contracts/checks/result.ts';
import { textOfWord } from '#shared/contracts/rules/abi-type.ts';
import {
  type Condition,
  type ContractCondition,
  isComposedRule,
  type TokenCondition,
} from '#shared/contracts/rules/rule.ts';
import { judgeWallets } from './judge-call.ts';
import {
  decimalsOf,
  type JudgeContext,
  judgeRules,
  UNREAD_CONTEXT,
  UNREAD_PLAN,
  type Verdict,
} from './judge-rules.ts';
import { type KnownTokens, knownAmount, type ReadingOf, textOfTokens } from './known-amount.ts';
import type { Outcome } from './outcome.ts';
import { planCall, settle } from './plan-call.ts';
import type { AmountNeeds, ReadPlan, RuleNeeds } from './plan-reads.ts';
import { formatTokenAmount } from './token-amount.ts';

type CallNeeds = Extract<RuleNeeds, { kind: 'call' }>;

const UNJUDGED: Verdict = { outcome: 'undetermined', code: 'internal' };

/**
 * Explains each verdict: the exact value that was compared, and the required one. Takes the
 * arguments of `judgeRules`, and its verdicts.
 *
 * @example
 * explainRules([rule], plan, context, judgeRules([rule], plan, context));
 * // [{ ruleIndex: 0, outcome: 'granted', observed: '1500.5', required: { min: '1500' } }]
 */
export const explainRules = (
  rules: readonly Condition[],
  { needs }: Pick<ReadPlan, 'needs'>,
  context: JudgeContext,
  verdicts: readonly Verdict[],
): RuleDetail[] =>
  rules.map((rule, ruleIndex) => ({
    ruleIndex,
    ...explainRule(rule, needs[ruleIndex], context, verdicts[ruleIndex]),
  }));

/** Explains the rules of a check that could not be evaluated: each is undetermined. */
export const explainUnread = (rules: readonly Condition[]): RuleDetail[] =>
  explainRules(rules, UNREAD_PLAN, UNREAD_CONTEXT, judgeRules(rules, UNREAD_PLAN, UNREAD_CONTEXT));

function explainRule(
  rule: Condition,
  needs: RuleNeeds | undefined,
  context: JudgeContext,
  { outcome, inside: verdicts, amounts }: Verdict = UNJUDGED,
): RuleDetail {
  if (isComposedRule(rule)) {
    const inside = needs?.kind === 'composed' ? needs.rules : [];
    return {
      outcome,
      required: {},
      rules: rule.rules.map((each, index) => explainRule(each, inside[index], context, verdicts?.[index])),
    };
  }
  if (rule.type !== 'CONTRACT') {
    const { minToken: min, maxToken: max } = rule;
    const required = { min, ...(max === undefined ? {} : { max }) };
    if (rule.type === 'SUM') {
      // Each term is shown before its weights.
      const rules = rule.rules.map((_, index) => observedTokens(amounts?.terms[index]?.amount));
      return { outcome, ...observedTokens(amounts?.sum), required, rules };
    }
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

const observedTokens = (tokens: KnownTokens | undefined) => observed(tokens && textOfTokens(tokens));

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
