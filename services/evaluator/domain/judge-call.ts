import { isValueOf } from '#shared/contracts/rules/abi-type.ts';
import type { ContractCondition } from '#shared/contracts/rules/rule.ts';
import { faultToReport, knownDelegation, type ReadingOf } from './known-amount.ts';
import { allOf, anyOf, not, type Outcome } from './outcome.ts';
import { type Comparison, satisfies, settle } from './plan-call.ts';
import type { Holding, NeedsOf } from './plan-reads.ts';
import { type FailedReading, failed } from './read.ts';

type CallVerdict = {
  readonly outcome: Outcome;
  /** Why it is undetermined. */
  readonly fault?: FailedReading | undefined;
};

/** Judges a `CONTRACT` rule: whether any or all of the wallets satisfy it. */
export function judgeCall(needs: NeedsOf<'call'>, readingOf: ReadingOf): CallVerdict {
  const { wallets = 'any' } = needs.rule;
  const verdicts = judgeWallets(needs, readingOf);
  const outcomes = verdicts.map(({ outcome }) => outcome);
  const open = verdicts.filter(({ outcome }) => outcome === 'undetermined');
  return {
    outcome: wallets === 'any' ? anyOf(outcomes) : allOf(outcomes),
    fault: faultToReport(open.map(({ fault }) => fault)),
  };
}

/** Judges a `CONTRACT` rule for each wallet. A vault that has not delegated is none of the
 * wallets. */
export function judgeWallets(needs: NeedsOf<'call'>, readingOf: ReadingOf): CallVerdict[] {
  const { wallets = 'any', onRevert } = needs.rule;
  const comparison = settle(needs.comparison, needs.time && readingOf(needs.time));
  return needs.wallets.map((wallet) => {
    const called = judgeOutput(wallet, comparison, onRevert, readingOf);
    const delegated = judgeDelegation(wallet, readingOf);
    const outcome =
      wallets === 'any'
        ? allOf([delegated.outcome, called.outcome])
        : anyOf([not(delegated.outcome), called.outcome]);
    return { outcome, fault: faultToReport([called.fault, delegated.fault]) };
  });
}

/** Whether the output that a wallet got satisfies the rule. */
function judgeOutput(
  { read, account }: Holding,
  comparison: Comparison | FailedReading,
  onRevert: ContractCondition['onRevert'],
  readingOf: ReadingOf,
): CallVerdict {
  const reading = readingOf(read);
  if (!reading.ok)
    return reading.isDeciding && onRevert === 'deny'
      ? { outcome: 'denied' }
      : { outcome: 'undetermined', fault: reading };
  if ('ok' in comparison) return { outcome: 'undetermined', fault: comparison };
  if (!isValueOf(comparison.type, reading.value))
    return { outcome: 'undetermined', fault: failed('return-malformed') };
  return { outcome: satisfies(comparison, reading.value, account) ? 'granted' : 'denied' };
}

function judgeDelegation({ delegations }: Holding, readingOf: ReadingOf): CallVerdict {
  if (delegations === undefined) return { outcome: 'granted' };
  const { least, most, fault } = knownDelegation(delegations, readingOf);
  if (least > 0n) return { outcome: 'granted' };
  return most === 0n ? { outcome: 'denied' } : { outcome: 'undetermined', fault };
}
