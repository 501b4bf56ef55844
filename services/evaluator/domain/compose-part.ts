import {
  type BatchEntry,
  type BatchPartCompleted,
  type BatchPartRequested,
  roleIdsOf,
} from '#shared/contracts/batches/batch.ts';
import { foldRoles, type RoleOutcome } from '#shared/contracts/checks/fold-roles.ts';
import { isRefunded, type UndeterminedCode } from '#shared/contracts/checks/result.ts';
import type { Additions, Blocks, Outcome } from './compose-result.ts';
import type { Verdict } from './judge-rules.ts';

/** The counts over the lines of a part. */
export type PartCounts = Pick<BatchPartCompleted, 'lineCount' | 'roles' | 'refundCount' | 'failedCount'>;

/** The members of a part that its lines and counts follow from. */
type PartOfRoles = Pick<BatchPartRequested, 'firstIndex' | 'previewDigest'> & {
  readonly rules: readonly { readonly roleId: string }[];
};

/** The text of a line after its wallets, and the number of lines that have it. */
type Ending = {
  readonly text: string;
  readonly outcome: Outcome;
  /** None of a failed entry. */
  readonly folded: ReadonlyMap<string, RoleOutcome>;
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
  /** Of a preview, by role id. */
  readonly #changes: ReadonlyMap<string, { gained: number; lost: number }> | undefined;
  #text = '';
  #lineCount = 0;

  constructor({ rules, firstIndex, previewDigest }: PartOfRoles, blocks: Blocks) {
    this.#rules = rules;
    this.#firstIndex = firstIndex;
    if (previewDigest !== undefined)
      this.#changes = new Map(roleIdsOf(rules).map((id) => [id, { gained: 0, lost: 0 }]));
    const numbers = Object.entries(blocks).map(([chainId, { number }]) => [chainId, number]);
    this.#blockNumbers = JSON.stringify(Object.fromEntries(numbers));
  }

  /** Adds the line of the next entry. An outcome that several entries share is written and folded
   * once. */
  add(entry: BatchEntry, outcome: Outcome, { details, proof }: Additions = {}): void {
    const wallets = entry.accounts
      ? `"accounts":${JSON.stringify(entry.accounts)}`
      : `"account":${JSON.stringify(entry.account)}`;
    const ref = entry.ref === undefined ? '' : `,"ref":${JSON.stringify(entry.ref)}`;
    const before = entry.before === undefined ? '' : `,"before":${JSON.stringify(entry.before)}`;
    const explained = details === undefined ? '' : `,"details":${JSON.stringify(details)}`;
    const signed = proof === undefined ? '' : `,"proof":${JSON.stringify(proof)}`;
    const ending = this.#endings.get(outcome) ?? this.#end(outcome);
    ending.lineCount += 1;
    this.#countChanges(entry, ending);
    this.#text += `{"index":${this.#firstIndex + this.#lineCount},${wallets}${ref}${before},${ending.text}${explained}${signed}}\n`;
    this.#lineCount += 1;
  }

  get text(): string {
    return this.#text;
  }

  get counts(): PartCounts {
    const roles = roleIdsOf(this.#rules).map((id) => ({
      ...{ id, granted: 0, denied: 0, undetermined: 0 },
      ...this.#changes?.get(id),
    }));
    let refundCount = 0;
    let failedCount = 0;
    for (const { outcome, folded, lineCount } of this.#endings.values()) {
      if (outcome.status === 'failed') failedCount += lineCount;
      if (isRefunded(outcome, this.#rules.length)) refundCount += lineCount;
      for (const role of roles) role[folded.get(role.id) ?? 'undetermined'] += lineCount;
    }
    return { lineCount: this.#lineCount, roles, refundCount, failedCount };
  }

  #end(outcome: Outcome): Ending {
    const { status, roles, errors } = outcome;
    const text = `"status":"${status}","roles":${JSON.stringify(roles)},"errors":${JSON.stringify(errors)},"blockNumbers":${this.#blockNumbers}`;
    const folded = status === 'failed' ? new Map() : foldRoles(outcome);
    const ending = { text, outcome, folded, lineCount: 0 };
    this.#endings.set(outcome, ending);
    return ending;
  }

  /** A role that could not be decided neither comes nor goes. */
  #countChanges({ before = {} }: BatchEntry, { folded }: Ending): void {
    for (const [id, wasGranted] of Object.entries(before)) {
      const changes = this.#changes?.get(id);
      if (changes === undefined) continue;
      if (!wasGranted && folded.get(id) === 'granted') changes.gained += 1;
      if (wasGranted && folded.get(id) === 'denied') changes.lost += 1;
    }
  }
}

/** How often the entries of a part, or a check, ended one rule as granted and as denied, and by which codes as
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
