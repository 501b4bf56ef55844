import type { BatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { foldRoles } from '#shared/contracts/checks/fold-roles.ts';
import type { BatchLine } from '../../support/infrastructure/connect-test-chains.ts';
import { atMost, type Figure } from './measure.ts';

/** The faults in the entries of batches. */
export type EntryCounts = {
  /** Entries without a line. */
  readonly lost: number;
  /** Second lines of an entry. */
  readonly doubled: number;
  /** Lines with another wallet than their entry, or with a role that contradicts the chain. */
  readonly contradictory: number;
};

/**
 * Counts the faults in the entries of one batch whose rules all grant to the holder and to no other
 * account.
 *
 * @example
 * countEntries(lines, accounts, chain.holder); // { lost: 0, doubled: 0, contradictory: 0 }
 */
export function countEntries(
  lines: readonly BatchLine[],
  accounts: readonly string[],
  holder: string,
): EntryCounts {
  const seen = new Set<number>();
  let [doubled, contradictory] = [0, 0];
  for (const { index, account, roles } of lines) {
    if (seen.has(index)) doubled += 1;
    seen.add(index);
    const isRight =
      account === accounts[index] && roles.every(({ granted }) => granted === (account === holder));
    if (!isRight) contradictory += 1;
  }
  const lost = accounts.filter((_, index) => !seen.has(index)).length;
  return { lost, doubled, contradictory };
}

/** The broken promises of a finished batch: each entry has one correct line, in order, and is
 * counted. */
export function judgeBatch(status: BatchStatus, lines: readonly BatchLine[], counts: EntryCounts): string[] {
  return [
    ...Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : [])),
    ...(lines.some(({ index }, place) => index !== place) ? ['the lines are out of order'] : []),
    ...judgeCounts(status, lines),
  ];
}

/** Whether the counts of a finished batch agree with its lines. */
export function judgeCounts(
  { entries, done, roles }: Pick<BatchStatus, 'entries' | 'done' | 'roles'>,
  lines: readonly BatchLine[],
): string[] {
  const faults = done === entries ? [] : [`${done} of ${entries} entries are done`];
  for (const { id, ...counted } of roles) {
    const own = { granted: 0, denied: 0, undetermined: 0 };
    for (const line of lines) own[foldRoles(line).get(id) ?? 'undetermined'] += 1;
    if (JSON.stringify(own) !== JSON.stringify(counted))
      faults.push(`the counts of ${id} differ from its lines`);
  }
  return faults;
}

/** The counts of several batches as figures of a row. */
export function entryFigures(all: readonly EntryCounts[]): Figure[] {
  const sumOf = (name: keyof EntryCounts) => all.reduce((sum, counts) => sum + counts[name], 0);
  return (['lost', 'doubled', 'contradictory'] as const).map((name) =>
    atMost(`entries ${name}`, sumOf(name), 0),
  );
}
