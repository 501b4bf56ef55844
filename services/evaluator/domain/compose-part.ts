import type { BatchEntry, BatchPartCompleted, RoleCounts } from '#shared/contracts/batch.ts';
import { foldRoles } from '#shared/contracts/fold-roles.ts';
import { isRefunded } from '#shared/contracts/result.ts';
import type { Blocks, Outcome } from './compose-result.ts';

/** What the lines of a part add up to. */
export type PartCounts = Pick<BatchPartCompleted, 'lineCount' | 'roles' | 'refundCount' | 'failedCount'>;

/**
 * Writes the lines of a part, one per entry, and counts what they say. Only this file builds a line's JSON text.
 *
 * A failed entry decides no role: each role of the rules counts as undetermined.
 */
export class PartLines {
  readonly #ruleCount: number;
  readonly #firstIndex: number;
  readonly #blockNumbers: string;
  readonly #lines: string[] = [];
  readonly #counts = new Map<string, { -readonly [Name in keyof RoleCounts]: RoleCounts[Name] }>();
  /** The JSON text of each role id. */
  readonly #quoted = new Map<string, string>();
  #refundCount = 0;
  #failedCount = 0;

  constructor(rules: readonly { readonly roleId: string }[], firstIndex: number, blocks: Blocks) {
    this.#ruleCount = rules.length;
    this.#firstIndex = firstIndex;
    const numbers = Object.entries(blocks).map(([chainId, { number }]) => [chainId, number]);
    this.#blockNumbers = JSON.stringify(Object.fromEntries(numbers));
    for (const { roleId: id } of rules) {
      this.#quoted.set(id, JSON.stringify(id));
      this.#counts.set(id, { id, granted: 0, denied: 0, undetermined: 0 });
    }
  }

  /** The place in the batch of the next line's entry. */
  get nextIndex(): number {
    return this.#firstIndex + this.#lines.length;
  }

  /** Adds the line of the next entry. */
  add(entry: BatchEntry, outcome: Outcome, proof?: string): void {
    const wallets = entry.accounts
      ? `"accounts":${JSON.stringify(entry.accounts)}`
      : `"account":${JSON.stringify(entry.account)}`;
    const ref = entry.ref === undefined ? '' : `,"ref":${JSON.stringify(entry.ref)}`;
    const roles = outcome.roles.map(
      ({ id, granted }) => `{"id":${this.#quoted.get(id)},"granted":${granted}}`,
    );
    const errors = outcome.errors.length === 0 ? '[]' : JSON.stringify(outcome.errors);
    const signed = proof === undefined ? '' : `,"proof":${JSON.stringify(proof)}`;
    this.#lines.push(
      `{"index":${this.nextIndex},${wallets}${ref},"status":"${outcome.status}","roles":[${roles.join(',')}],"errors":${errors},"blockNumbers":${this.#blockNumbers}${signed}}\n`,
    );
    this.#count(outcome);
  }

  get text(): string {
    return this.#lines.join('');
  }

  get counts(): PartCounts {
    return {
      lineCount: this.#lines.length,
      roles: [...this.#counts.values()],
      refundCount: this.#refundCount,
      failedCount: this.#failedCount,
    };
  }

  #count(outcome: Outcome): void {
    const isFailed = outcome.status === 'failed';
    if (isFailed) this.#failedCount += 1;
    const folded = foldRoles(outcome);
    for (const [id, counts] of this.#counts)
      counts[isFailed ? 'undetermined' : (folded.get(id) ?? 'undetermined')] += 1;
    if (isRefunded(outcome, this.#ruleCount)) this.#refundCount += 1;
  }
}
