import type { Undetermined } from '#shared/contracts/checks/result.ts';
import {
  type ComposedCondition,
  type Condition,
  type ContractCondition,
  isComposedRule,
  type SumCondition,
  type SumTerm,
  type TokenCondition,
} from '#shared/contracts/rules/rule.ts';
import type { Readings } from './agree.ts';
import { judgeCall } from './judge-call.ts';
import {
  type Known,
  type KnownTerm,
  type KnownTokens,
  knownAmount,
  knownSum,
  knownTerm,
  type OpenPart,
  type ReadingOf,
} from './known-amount.ts';
import { compose, type Outcome } from './outcome.ts';
import type { AmountNeeds, ReadPlan, RuleNeeds } from './plan-reads.ts';
import { type FailedReading, failed, type Read } from './read.ts';
import type { TokenBounds } from './token-amount.ts';

/** The simple rule or the term that left a composed rule or a sum undetermined. */
export type OpenRule = {
  /** From the composed rule or the sum on, such as `/rules/2`. */
  readonly path: string;
  readonly chainId: number;
  readonly contractAddress: string | undefined;
};

export type Verdict = (
  | { readonly outcome: 'granted' | 'denied' }
  | ({ readonly outcome: 'undetermined'; readonly open?: OpenRule } & Undetermined)
) & {
  /** What it was reached from, for its explanation: of a composed rule the verdicts on the rules
   * inside, of a sum its amounts. */
  readonly inside?: readonly Verdict[];
  readonly amounts?: { readonly sum: KnownTokens; readonly terms: readonly KnownTerm[] };
};

/** Native coin decimals by chain id. */
export type NativeDecimals = (chainId: number) => number;

export type JudgeContext = {
  readonly readingOf: ReadingOf;
  /** The same for the terms of a sum over several chains. */
  readonly readingAtInstant: ReadingOf;
  readonly nativeDecimals: NativeDecimals;
};

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
 * const context = judgeContextOf(new Map([[nativeRead, { ok: true, value: 5n * 10n ** 18n }]]), () => 18);
 * judgeRules([rule], plan, context);
 * // [{ outcome: 'granted' }] for a rule that requires 5 of the native coin
 */
export const judgeRules = (
  rules: readonly Condition[],
  { needs }: Pick<ReadPlan, 'needs'>,
  context: JudgeContext,
): Verdict[] => rules.map((rule, index) => judgeRule(rule, needs[index], context));

/** The verdicts of rules that nothing was read for: each is undetermined, for the same reason. */
export const judgeUnread = (rules: readonly Condition[], reason: FailedReading): Verdict[] =>
  judgeRules(rules, UNREAD_PLAN, UNREAD_CONTEXT).map((verdict) => ({ ...verdict, ...undetermined(reason) }));

/**
 * @param behind chains that were not read at the instant of the others: amounts of theirs are not
 *   added to those of others
 */
export function judgeContextOf(
  readings: Readings,
  nativeDecimals: NativeDecimals,
  behind: ReadonlySet<number> = new Set(),
): JudgeContext {
  const readingOf = (read: Read) => readings.get(read) ?? failed('internal');
  const readingAtInstant = (read: Read) =>
    behind.has(read.chainId) ? failed('chain-stale') : readingOf(read);
  return { readingOf, readingAtInstant, nativeDecimals };
}

/** Of rules that nothing was read for. */
export const UNREAD_PLAN: Pick<ReadPlan, 'needs'> = { needs: [] };
export const UNREAD_CONTEXT: JudgeContext = judgeContextOf(new Map(), () => 0);

function judgeRule(rule: Condition, needs: RuleNeeds | undefined, context: JudgeContext): Verdict {
  if (isComposedRule(rule)) return judgeComposed(rule, needs, context);
  if (rule.type === 'CONTRACT') return judgeContract(rule, needs, context);
  if (rule.type === 'SUM') return judgeSum(rule, needs, context);
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
  const needsInside = needs?.kind === 'composed' ? needs.rules : [];
  const inside = rule.rules.map((each, index) => judgeRule(each, needsInside[index], context));
  const outcome: Outcome = compose(
    rule,
    inside.map((verdict) => verdict.outcome),
  );
  if (outcome !== 'undetermined') return { outcome, inside };
  for (const [index, verdict] of inside.entries()) {
    const each = rule.rules[index];
    if (verdict.outcome !== 'undetermined' || each === undefined) continue;
    const pointer = `/rules/${index}`;
    if (verdict.open !== undefined)
      return {
        ...undetermined(verdict),
        open: { ...verdict.open, path: pointer + verdict.open.path },
        inside,
      };
    if ('chainId' in each)
      return {
        ...undetermined(verdict),
        open: { path: pointer, chainId: each.chainId, contractAddress: each.contractAddress },
        inside,
      };
  }
  return { ...undetermined(failed('internal')), inside };
}

function judgeContract(
  rule: ContractCondition,
  needs: RuleNeeds | undefined,
  context: JudgeContext,
): Verdict {
  if (needs?.kind !== 'call') return undetermined(failed('internal'));
  const { outcome, fault } = judgeCall(needs, rule, context.readingOf);
  return outcome === 'undetermined' ? undetermined(fault ?? failed('internal')) : { outcome };
}

function judgeToken(rule: TokenCondition, needs: RuleNeeds | undefined, context: JudgeContext): Verdict {
  if (needs?.kind !== 'amount') return undetermined(failed('internal'));
  const known = knownAmount(needs.amount, context.readingOf);
  const decimals = decimalsOf(rule.chainId, needs.amount, context);
  if (typeof decimals !== 'number') return undetermined(known.fault ?? decimals);
  return judgeAmount(known, needs.range.boundsAt(decimals));
}

type SumNeeds = Extract<RuleNeeds, { kind: 'sum' }>;

/** An undetermined sum is reported by its first open term. */
function judgeSum(rule: SumCondition, needs: RuleNeeds | undefined, context: JudgeContext): Verdict {
  if (needs?.kind !== 'sum') return undetermined(failed('internal'));
  const terms = knownTermsOf(rule, needs, context);
  const sum = knownSum(terms.map(({ value }) => value));
  const amounts = { sum, terms };
  const { min, max } = needs.range.boundsAt(sum.decimals);
  const verdict = judgeAmount(sum, {
    min: min * sum.divisor,
    max: max === undefined ? undefined : max * sum.divisor,
  });
  if (verdict.outcome !== 'undetermined') return { ...verdict, amounts };
  for (const [index, { open }] of terms.entries()) {
    const term = rule.rules[index];
    if (open === undefined || term === undefined) continue;
    const { contractAddress } = partOf(term, open.part);
    const path = `/rules/${index}${open.part}`;
    return { ...undetermined(open.fault), open: { path, chainId: term.chainId, contractAddress }, amounts };
  }
  return { ...undetermined(failed('internal')), amounts };
}

const partOf = (term: SumTerm, part: OpenPart): { readonly contractAddress?: string | undefined } => {
  const weight = part === '/times' ? term.times : term.per;
  return part === '' || typeof weight !== 'object' ? term : weight;
};

function knownTermsOf(rule: SumCondition, needs: SumNeeds, context: JudgeContext): KnownTerm[] {
  const readingOf = needs.isOverChains ? context.readingAtInstant : context.readingOf;
  return needs.terms.map((term, index) => {
    const chainId = rule.rules[index]?.chainId ?? 0;
    return knownTerm(term, decimalsOf(chainId, term.amount, { ...context, readingOf }), readingOf);
  });
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

export function decimalsOf(
  chainId: number,
  amount: AmountNeeds,
  { readingOf, nativeDecimals }: JudgeContext,
): number | FailedReading {
  if (amount.kind === 'outputs') return amount.decimals;
  if (amount.kind !== 'balances') return 0;
  if (amount.decimals === undefined) return nativeDecimals(chainId);
  const reading = readingOf(amount.decimals);
  if (reading.ok)
    return reading.value <= DECIMALS_MAX ? Number(reading.value) : failed('decimals-unavailable');
  const isAnswered = reading.code === 'call-reverted' || reading.code === 'return-malformed';
  return isAnswered ? failed('decimals-unavailable') : reading;
}

const undetermined = ({ code, cause }: Undetermined): Extract<Verdict, { outcome: 'undetermined' }> => ({
  outcome: 'undetermined',
  code,
  ...(cause === undefined ? {} : { cause }),
});
