import { textOfWord } from '#shared/contracts/abi-type.ts';
import type { RuleDetail } from '#shared/contracts/result.ts';
import { type Condition, isComposedRule, type TokenCondition } from '#shared/contracts/rule.ts';
import type { Readings } from './agree.ts';
import { judgeWallet } from './judge-call.ts';
import {
  decimalsOf,
  type JudgeContext,
  judgeContextOf,
  judgeRule,
  knownOf,
  type NativeDecimals,
} from './judge-rules.ts';
import type { Outcome } from './outcome.ts';
import { isTokenNeeds, type ReadPlan, type RuleNeeds, type TokenNeeds } from './plan-reads.ts';
import { formatTokenAmount } from './token-amount.ts';

type CallNeeds = Extract<RuleNeeds, { kind: 'call' }>;

/**
 * Explains each verdict: the exact value that was compared, and the required one. Takes the arguments of `judgeRules`.
 *
 * @example
 * explainRules([rule], plan, readings, () => 18);
 * // [{ ruleIndex: 0, outcome: 'granted', observed: '1500.5', required: { min: '1500' } }]
 */
export function explainRules(
  rules: readonly Condition[],
  plan: Pick<ReadPlan, 'needs'>,
  readings: Readings,
  nativeDecimals: NativeDecimals,
): RuleDetail[] {
  const context = judgeContextOf(readings, nativeDecimals);
  return rules.map((rule, ruleIndex) => ({
    ruleIndex,
    ...explainRule(rule, plan.needs[ruleIndex], context),
  }));
}

function explainRule(rule: Condition, needs: RuleNeeds | undefined, context: JudgeContext): RuleDetail {
  const { outcome } = judgeRule(rule, needs, context);
  if (isComposedRule(rule)) {
    const inside = needs?.kind === 'composed' ? needs.rules : [];
    return { outcome, rules: rule.rules.map((each, index) => explainRule(each, inside[index], context)) };
  }
  if (rule.type !== 'CONTRACT') {
    const { minToken: min, maxToken: max } = rule;
    const required = { min, ...(max === undefined ? {} : { max }) };
    return {
      outcome,
      ...observed(isTokenNeeds(needs) ? observedAmount(rule, needs, context) : undefined),
      required,
    };
  }
  if (needs?.kind !== 'call') return { outcome };
  const { operator, value } = needs.comparison;
  return {
    outcome,
    ...observed(observedOutput(needs, rule.onRevert, outcome, context)),
    required: { operator, value },
  };
}

const observed = (text: string | undefined): { observed?: string } =>
  text === undefined ? {} : { observed: text };

/** The amount, if every read that it is made of is known. */
function observedAmount(rule: TokenCondition, needs: TokenNeeds, context: JudgeContext): string | undefined {
  const known = knownOf(needs, context.readingOf);
  const decimals = decimalsOf(rule, needs, context);
  return known.fault !== undefined || typeof decimals !== 'number'
    ? undefined
    : formatTokenAmount(known.least, decimals);
}

/** The output of the first wallet whose own verdict is that of the rule. */
function observedOutput(
  needs: CallNeeds,
  onRevert: 'undetermined' | 'deny' | undefined,
  outcome: Outcome,
  { readingOf }: JudgeContext,
): string | undefined {
  if (outcome === 'undetermined') return undefined;
  const decisive = needs.wallets.find(
    (wallet) => judgeWallet(wallet, needs, onRevert, readingOf).outcome === outcome,
  );
  const reading = decisive && readingOf(decisive.read);
  return reading?.ok ? textOfWord(needs.comparison.type, reading.value) : undefined;
}
