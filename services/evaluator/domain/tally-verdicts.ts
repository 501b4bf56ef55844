import type { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import type { Verdict } from './judge-rules.ts';

/** How often the entries of a part ended one rule as granted and as denied, and by which codes as undetermined. */
export type RuleTally = {
  granted: number;
  denied: number;
  readonly undetermined: Map<UndeterminedCode, number>;
};

export const newTally = (ruleCount: number): RuleTally[] =>
  Array.from({ length: ruleCount }, () => ({ granted: 0, denied: 0, undetermined: new Map() }));

/** Adds the verdicts of one entry, in the order of the rules. */
export function tallyVerdicts(tallies: readonly RuleTally[], verdicts: readonly Verdict[]): void {
  for (let index = 0; index < tallies.length; index++) {
    const [tally, verdict] = [tallies[index], verdicts[index]];
    if (tally === undefined || verdict === undefined) continue;
    if (verdict.outcome !== 'undetermined') tally[verdict.outcome] += 1;
    else tally.undetermined.set(verdict.code, (tally.undetermined.get(verdict.code) ?? 0) + 1);
  }
}
