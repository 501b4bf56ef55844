import type { Undetermined } from '#shared/contracts/checks/result.ts';
import type { Condition, SumTerm } from '#shared/contracts/rules/rule.ts';
import type { Readings } from './agree.ts';
import { judgeCall } from './judge-call.ts';
import {
  decimalsOf,
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
import type { NeedsOf, RuleNeeds } from './plan-reads.ts';
import { failed, type Read } from './read.ts';
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

export type JudgeContext = {
  readonly readingOf: ReadingOf;
  /** The same for the terms of a sum over several chains. */
  readonly readingAtInstant: ReadingOf;
};

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
 * const context = judgeContextOf(new Map([[nativeRead, { ok: true, value: 5n * 10n ** 18n }]]));
 * judgeRules(plan.needs, context);
 * // [{ outcome: 'granted' }] for a rule that requires 5 of the native coin
 */
export const judgeRules = (needs: readonly RuleNeeds[], context: JudgeContext): Verdict[] =>
  needs.map((each) => judgeRule(each, context));

/**
 * @param behind chains that were not read at the instant of the others: amounts of theirs are not
 *   added to those of others
 */
export function judgeContextOf(readings: Readings, behind: ReadonlySet<number> = new Set()): JudgeContext {
  const readingOf = (read: Read) => readings.get(read) ?? failed('internal');
  const readingAtInstant = (read: Read) =>
    behind.has(read.chainId) ? failed('chain-stale') : readingOf(read);
  return { readingOf, readingAtInstant };
}

function judgeRule(needs: RuleNeeds, context: JudgeContext): Verdict {
  switch (needs.kind) {
    case 'amount':
      return judgeToken(needs, context.readingOf);
    case 'sum':
      return judgeSum(needs, needs.isOverChains ? context.readingAtInstant : context.readingOf);
    case 'call': {
      const { outcome, fault } = judgeCall(needs, context.readingOf);
      return outcome === 'undetermined' ? undetermined(fault ?? failed('internal')) : { outcome };
    }
    case 'composed':
      return judgeComposed(needs, context);
    case 'unread':
      return undetermined(needs.reason);
  }
}

/**
 * Judges the rules inside and composes their outcomes. An undetermined rule is reported by the
 * first simple rule inside that left it open: each undetermined rule inside of an undetermined one
 * does, and none inside of a decided one.
 */
function judgeComposed({ rule, rules }: NeedsOf<'composed'>, context: JudgeContext): Verdict {
  const inside = judgeRules(rules, context);
  const outcome: Outcome = compose(
    rule,
    inside.map((verdict) => verdict.outcome),
  );
  if (outcome !== 'undetermined') return { outcome, inside };
  for (const [index, verdict] of inside.entries()) {
    if (verdict.outcome !== 'undetermined') continue;
    const open = openIn(rule.rules[index], `/rules/${index}`, verdict.open);
    return { ...undetermined(verdict), ...(open && { open }), inside };
  }
  return { ...undetermined(failed('internal')), inside };
}

/** What left a rule inside of another one open: that rule, or one inside of it. */
function openIn(rule: Condition | undefined, path: string, inside: OpenRule | undefined) {
  if (inside !== undefined) return { ...inside, path: path + inside.path };
  if (rule === undefined || !('chainId' in rule)) return undefined;
  return { path, chainId: rule.chainId, contractAddress: rule.contractAddress };
}

function judgeToken({ amount, range }: NeedsOf<'amount'>, readingOf: ReadingOf): Verdict {
  const known = knownAmount(amount, readingOf);
  const decimals = decimalsOf(amount, readingOf);
  if (typeof decimals !== 'number') return undetermined(known.fault ?? decimals);
  return judgeAmount(known, range.boundsAt(decimals));
}

/** An undetermined sum is reported by its first open term. */
function judgeSum({ rule, range, terms: needed }: NeedsOf<'sum'>, readingOf: ReadingOf): Verdict {
  const terms = needed.map((term) => knownTerm(term, readingOf));
  const sum = knownSum(terms.map(({ value }) => value));
  const amounts = { sum, terms };
  const { min, max } = range.boundsAt(sum.decimals);
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

const undetermined = ({ code, cause }: Undetermined): Extract<Verdict, { outcome: 'undetermined' }> => ({
  outcome: 'undetermined',
  code,
  ...(cause === undefined ? {} : { cause }),
});
