import { type BatchEntry, type BatchPartCompleted, roleIdsOf } from '#shared/contracts/batches/batch.ts';
import { foldRoles, type RoleOutcome } from '#shared/contracts/checks/fold-roles.ts';
import type { RuleDetail, UndeterminedCode } from '#shared/contracts/checks/result.ts';
import { isRefunded } from '#shared/contracts/checks/result.ts';
import type { Blocks, Outcome } from './compose-result.ts';
import type { Verdict } from './judge-rules.ts';

/** The counts over the lines of a part. */
export type PartCounts = Pick<BatchPartCompleted, 'lineCount' | 'roles' | 'refundCount' | 'failedCount'>;

/** What a batch may ask for in each line. */
type Additions = {
  readonly details?: readonly RuleDetail[] | undefined;
  readonly proof?: string | undefined;
};

/** The text of a line after its wallets, and the number of lines that have it. */
type Ending = {
  readonly text: string;
  readonly outcome: Outcome;
  lineCount: number;
};

/**
 * Writes the lines of a part, one per entry, and counts their outcomes. Only this file builds a
 * line's JSON text.
 *
 * A failed entry decides no role: each role of the rules counts as undetermined.
 */
export class PartLines {
  readonly #rules: readonly { readonly roleId: string }[];
  readonly #firstIndex: number;
  readonly #blockNumbers: string;
  readonly #endings = new Map<Outcome, Ending>();
  #text = '';
  #lineCount = 0;

  constructor(rules: readonly { readonly roleId: string }[], firstIndex: number, blocks: Blocks) {
    this.#rules = rules;
    this.#firstIndex = firstIndex;
    const numbers = Object.entries(blocks).map(([chainId, { number }]) => [chainId, number]);
    this.#blockNumbers = JSON.stringify(Object.fromEntries(numbers));
  }

  /** The index in the batch of the next line's entry. */
  get nextIndex(): number {
    return this.#firstIndex + this.#lineCount;
  }

  /** Adds the line of the next entry. An outcome that several entries share is written and folded
   * once. */
  add(entry: BatchEntry, outcome: Outcome, { details, proof }: Additions = {}): void {
    const wallets = entry.accounts
      ? `"accounts":${JSON.stringify(entry.accounts)}`
      : `"account":${JSON.stringify(entry.account)}`;
    const ref = entry.ref === undefined ? '' : `,"ref":${JSON.stringify(entry.ref)}`;
    const explained = details === undefined ? '' : `,"details":${JSON.stringify(details)}`;
    const signed = proof === undefined ? '' : `,"proof":${JSON.stringify(proof)}`;
    const ending = this.#endings.get(outcome) ?? this.#end(outcome);
    ending.lineCount += 1;
    this.#text += `{"index":${this.nextIndex},${wallets}${ref},${ending.text}${explained}${signed}}\n`;
    this.#lineCount += 1;
  }

  get text(): string {
    return this.#text;
  }

  get counts(): PartCounts {
    const roles = roleIdsOf(this.#rules).map((id) => ({ id, granted: 0, denied: 0, undetermined: 0 }));
    let refundCount = 0;
    let failedCount = 0;
    for (const { outcome, lineCount } of this.#endings.values()) {
      const isFailed = outcome.status === 'failed';
      if (isFailed) failedCount += lineCount;
      if (isRefunded(outcome, this.#rules.length)) refundCount += lineCount;
      const folded: ReadonlyMap<string, RoleOutcome> = isFailed ? new Map() : foldRoles(outcome);
      for (const role of roles) role[folded.get(role.id) ?? 'undetermined'] += lineCount;
    }
    return { lineCount: this.#lineCount, roles, refundCount, failedCount };
  }

  #end(outcome: Outcome): Ending {
    const { status, roles, errors } = outcome;
    const text = `"status":"${status}","roles":${JSON.stringify(roles)},"errors":${JSON.stringify(errors)},"blockNumbers":${this.#blockNumbers}`;
    const ending = { text, outcome, lineCount: 0 };
    this.#endings.set(outcome, ending);
    return ending;
  }
}

/** How often the entries of a part ended one rule as granted and as denied, and by which codes as
 * undetermined. */
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
