import type { Undetermined } from '#shared/contracts/checks/result.ts';
import {
  type ComposedCondition,
  type Condition,
  type ContractCondition,
  isComposedRule,
  type TokenCondition,
} from '#shared/contracts/rules/rule.ts';
import type { Readings } from './agree.ts';
import { judgeCall } from './judge-call.ts';
import { type Known, knownCount, knownSum, type ReadingOf } from './known-amount.ts';
import { compose, type Outcome } from './outcome.ts';
import { isTokenNeeds, type ReadPlan, type RuleNeeds, type TokenNeeds } from './plan-reads.ts';
import { type FailedReading, failed, type Read } from './read.ts';
import type { TokenBounds } from './token-amount.ts';

/** The simple rule that left its composed rule undetermined. */
export type OpenRule = {
  /** From the composed rule on, such as `/rules/2`. */
  readonly path: string;
  readonly chainId: number;
  readonly contractAddress: string | undefined;
};

export type Verdict =
  | { readonly outcome: 'granted' | 'denied' }
  | ({ readonly outcome: 'undetermined'; readonly open?: OpenRule } & Undetermined);

/** Native coin decimals by chain id. */
export type NativeDecimals = (chainId: number) => number;

export type JudgeContext = { readonly readingOf: ReadingOf; readonly nativeDecimals: NativeDecimals };

const DECIMALS_MAX = 255n;
const GRANTED: Verdict = { outcome: 'granted' };
const DENIED: Verdict = { outcome: 'denied' };

/**
 * Judges each rule against the readings, in rule order.
 *
 * A failed read is never a "no": it leaves the amount uncertain between two bounds, and the rule is
 * decided only if every amount within the bounds gives the same verdict. For example, a rule
 * requires one of the ids 1 and 2, and id 2 could not be read: a wallet that holds id 1 is granted,
 * and a wallet without id 1 is undetermined, not denied.
 *
 * @example
 * judgeRules([rule], plan, new Map([[nativeRead, { ok: true, value: 5n * 10n ** 18n }]]), () => 18);
 * // [{ outcome: 'granted' }] for a rule that requires 5 of the native coin
 */
export function judgeRules(
  rules: readonly Condition[],
  plan: Pick<ReadPlan, 'needs'>,
  readings: Readings,
  nativeDecimals: NativeDecimals,
): Verdict[] {
  const context = judgeContextOf(readings, nativeDecimals);
  return rules.map((rule, index) => judgeRule(rule, plan.needs[index], context));
}

/** The verdicts of rules that nothing was read for: each is undetermined, for the same reason. */
export const judgeUnread = (rules: readonly Condition[], reason: FailedReading): Verdict[] =>
  judgeRules(rules, { needs: [] }, new Map(), () => 0).map((verdict) => ({
    ...verdict,
    ...undetermined(reason),
  }));

export const judgeContextOf = (readings: Readings, nativeDecimals: NativeDecimals): JudgeContext => ({
  readingOf: (read: Read) => readings.get(read) ?? failed('internal'),
  nativeDecimals,
});

export function judgeRule(rule: Condition, needs: RuleNeeds | undefined, context: JudgeContext): Verdict {
  if (isComposedRule(rule)) return judgeComposed(rule, needs, context);
  if (rule.type === 'CONTRACT') return judgeContract(rule, needs, context);
  return judgeToken(rule, needs, context);
}

/**
 * Judges the rules inside and composes their outcomes. An undetermined rule is reported by the
 * first simple rule inside that left it open: each undetermined rule inside of an undetermined one
 * does, and none inside of a decided one.
 */
function judgeComposed(
  rule: ComposedCondition,
  needs: RuleNeeds | undefined,
  context: JudgeContext,
): Verdict {
  const inside = needs?.kind === 'composed' ? needs.rules : [];
  const verdicts = rule.rules.map((each, index) => judgeRule(each, inside[index], context));
  const outcome: Outcome = compose(
    rule,
    verdicts.map((verdict) => verdict.outcome),
  );
  if (outcome !== 'undetermined') return { outcome };
  for (const [index, verdict] of verdicts.entries()) {
    const each = rule.rules[index];
    if (verdict.outcome !== 'undetermined' || each === undefined) continue;
    const pointer = `/rules/${index}`;
    if (verdict.open !== undefined)
      return { ...verdict, open: { ...verdict.open, path: pointer + verdict.open.path } };
    if (!isComposedRule(each))
      return {
        ...verdict,
        open: { path: pointer, chainId: each.chainId, contractAddress: each.contractAddress },
      };
  }
  return undetermined(failed('internal'));
}

function judgeContract(
  { wallets, onRevert }: ContractCondition,
  needs: RuleNeeds | undefined,
  { readingOf }: JudgeContext,
): Verdict {
  if (needs?.kind !== 'call') return undetermined(failed('internal'));
  const { outcome, fault } = judgeCall(needs, { wallets, onRevert }, readingOf);
  return outcome === 'undetermined' ? undetermined(fault ?? failed('internal')) : { outcome };
}

function judgeToken(rule: TokenCondition, needs: RuleNeeds | undefined, context: JudgeContext): Verdict {
  if (!isTokenNeeds(needs)) return undetermined(failed('internal'));
  const known = knownOf(needs, context.readingOf);
  const decimals = decimalsOf(rule, needs, context);
  if (typeof decimals !== 'number') return undetermined(known.fault ?? decimals);
  return judgeAmount(known, needs.range.boundsAt(decimals));
}

/** Compares the bounds of the amount with the rule's minimum and maximum; all bounds are
 * inclusive. */
function judgeAmount(known: Known, { min, max }: TokenBounds): Verdict {
  const isSurelyEnough = known.least >= min;
  const isSurelyNotTooMuch = max === undefined || (known.most !== undefined && known.most <= max);
  if (isSurelyEnough && isSurelyNotTooMuch) return GRANTED;
  const isSurelyTooLittle = known.most !== undefined && known.most < min;
  const isSurelyTooMuch = max !== undefined && known.least > max;
  if (isSurelyTooLittle || isSurelyTooMuch) return DENIED;
  return known.fault === undefined ? DENIED : undetermined(known.fault);
}

/** The known bounds of the amount that a token rule compares. */
export const knownOf = (needs: TokenNeeds, readingOf: ReadingOf): Known =>
  needs.kind === 'owned-ids'
    ? knownCount(needs.ids, needs.accounts, readingOf)
    : knownSum(needs.holdings, readingOf);

export function decimalsOf(
  rule: TokenCondition,
  needs: TokenNeeds,
  { readingOf, nativeDecimals }: JudgeContext,
): number | FailedReading {
  if (needs.kind !== 'amount') return 0;
  if (needs.decimals === undefined) return nativeDecimals(rule.chainId);
  const reading = readingOf(needs.decimals);
  if (reading.ok)
    return reading.value <= DECIMALS_MAX ? Number(reading.value) : failed('decimals-unavailable');
  const isAnswered = reading.code === 'call-reverted' || reading.code === 'return-malformed';
  return isAnswered ? failed('decimals-unavailable') : reading;
}

const undetermined = ({ code, cause }: FailedReading): Verdict => ({
  outcome: 'undetermined',
  code,
  ...(cause === undefined ? {} : { cause }),
});
