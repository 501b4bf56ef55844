import type { RuleDetail } from '#shared/contracts/checks/result.ts';
import { textOfWord } from '#shared/contracts/rules/abi-type.ts';
import type { Condition, ContractCondition, TokenCondition } from '#shared/contracts/rules/rule.ts';
import { judgeWallets } from './judge-call.ts';
import type { Verdict } from './judge-rules.ts';
import { decimalsOf, type KnownTokens, knownAmount, type ReadingOf, textOfTokens } from './known-amount.ts';
import type { Outcome } from './outcome.ts';
import { planCall, settle, Unplannable } from './plan-call.ts';
import { type AmountNeeds, type NeedsOf, type RuleNeeds, unread } from './plan-reads.ts';
import { failed } from './read.ts';
import { formatTokenAmount } from './token-amount.ts';

const INTERNAL = failed('internal');
const UNJUDGED: Verdict = { outcome: 'undetermined', code: 'internal' };

/**
 * Explains each verdict: the exact value that was compared, and the required one.
 *
 * @param verdicts of `judgeRules`, none of rules that were not judged
 * @example
 * explainRules(plan.needs, judgeRules(plan.needs, context), context.readingOf);
 * // [{ ruleIndex: 0, outcome: 'granted', observed: '1500.5', required: { min: '1500' } }]
 */
export const explainRules = (
  needs: readonly RuleNeeds[],
  verdicts: readonly Verdict[],
  readingOf: ReadingOf,
): RuleDetail[] =>
  needs.map((each, ruleIndex) => ({ ruleIndex, ...explainRule(each, readingOf, verdicts[ruleIndex]) }));

/** Explains rules of which nothing was read. */
export const explainUnread = (rules: readonly Condition[]): RuleDetail[] =>
  explainRules(unread(rules, INTERNAL), [], () => INTERNAL);

function explainRule(
  needs: RuleNeeds,
  readingOf: ReadingOf,
  { outcome, inside, amounts }: Verdict = UNJUDGED,
): RuleDetail {
  switch (needs.kind) {
    case 'composed': {
      const rules = needs.rules.map((each, index) => explainRule(each, readingOf, inside?.[index]));
      return { outcome, required: {}, rules };
    }
    case 'amount':
      return {
        outcome,
        ...observed(observedAmount(needs.amount, readingOf)),
        required: requiredRange(needs.rule),
      };
    case 'sum': {
      // Each term is shown before its weights.
      const rules = amounts?.terms.map(({ amount }) => observedTokens(amount));
      return { outcome, ...observedTokens(amounts?.sum), required: requiredRange(needs.rule), rules };
    }
    case 'call': {
      const settled = settle(needs.comparison, needs.time && readingOf(needs.time));
      const { operator, value } = 'ok' in settled ? needs.comparison : settled;
      const text = observedOutput(needs, outcome, readingOf);
      return { outcome, ...observed(text), required: { operator, value } };
    }
    case 'unread': {
      const { rule } = needs;
      if (rule.type === 'CONTRACT') return { outcome, required: requiredOutput(rule) };
      const required = requiredRange(rule);
      return { outcome, required, ...(rule.type === 'SUM' && { rules: rule.rules.map(() => ({})) }) };
    }
  }
}

const requiredRange = ({ minToken: min, maxToken: max }: Pick<TokenCondition, 'minToken' | 'maxToken'>) => ({
  min,
  ...(max === undefined ? {} : { max }),
});

/** Nothing of a rule that could not be planned. */
function requiredOutput(rule: ContractCondition): RuleDetail['required'] {
  try {
    const { operator, value } = planCall(rule).comparison;
    return { operator, value };
  } catch (error) {
    if (!(error instanceof Unplannable)) throw error;
    return {};
  }
}

const observed = (text: string | undefined): { observed?: string } =>
  text === undefined ? {} : { observed: text };

const observedTokens = (tokens: KnownTokens | undefined) => observed(tokens && textOfTokens(tokens));

/** The amount, if every read that it is made of is known. */
function observedAmount(amount: AmountNeeds, readingOf: ReadingOf): string | undefined {
  const known = knownAmount(amount, readingOf);
  const decimals = decimalsOf(amount, readingOf);
  return known.fault !== undefined || typeof decimals !== 'number'
    ? undefined
    : formatTokenAmount(known.least, decimals);
}

/** The output of the first wallet that decides the rule as it was decided; a vault that has not
 * delegated does not. */
function observedOutput(needs: NeedsOf<'call'>, outcome: Outcome, readingOf: ReadingOf): string | undefined {
  if (outcome === 'undetermined') return undefined;
  const verdicts = judgeWallets(needs, readingOf);
  const decisive = needs.wallets[verdicts.findIndex((verdict) => verdict.outcome === outcome)];
  const reading = decisive && readingOf(decisive.read);
  return reading?.ok ? textOfWord(needs.comparison.type, reading.value) : undefined;
}
