import { loadToolchain } from '../../../deploy/local/infrastructure/toolchain.ts';
import { describeMachine } from '../../support/figures/describe-machine.ts';
import { formatMarkdown } from '../../support/figures/format-markdown.ts';
import type { RowReport } from './run-row.ts';
import { isWell, type RowResult } from './run-rows.ts';

/** Offending ids shown for each broken promise; the JSON has all of them. */
const SHOWN_MAX = 3;
const HEADINGS = ['row', 'fault', 'lost', 'unexpected', 'wrong', 'duplicates', 'measured (goal)', 'verdict'];

/** Where and when a table was made. */
export const describeRun = () => ({
  at: new Date().toISOString(),
  ...describeMachine(),
  node: process.version,
  kafka: loadToolchain().kafka.version,
});
/** Lost: no result, or no delivery. Wrong: every other fault. */
function cellsOf(row: RowResult): string[] {
  if ('failed' in row)
    return [row.id, row.title, '–', '–', '–', '–', row.failed.split('\n')[0] ?? '', 'NOT RUN'];
  const { broken, counts } = row;
  const count = (...kinds: string[]): number =>
    kinds.reduce((sum, kind) => sum + (broken[kind]?.length ?? 0), 0);
  const rest = Object.keys(broken).filter((kind) => !['lost', 'undelivered', 'unexpected'].includes(kind));
  return [
    row.id,
    row.title,
    String(count('lost', 'undelivered')),
    String(count('unexpected', 'contradictory')),
    String(count(...rest.filter((kind) => kind !== 'contradictory'))),
    `${counts.duplicates} + ${counts.evaluatedAgain} of ${counts.acknowledged}`,
    figuresOf(row).join('; '),
    isWell(row) ? 'kept' : `BROKEN: ${Object.keys(broken).join(', ')}`,
  ];
}

const figuresOf = ({ figures }: RowReport): string[] =>
  figures.map(({ what, measured, goal, met }) => `${what} ${measured} (${goal}${met ? '' : ', missed'})`);

/** The table of a run. */
export function formatTable(rows: readonly RowResult[]): string {
  const byNumber = [...rows].sort((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)));
  return formatMarkdown(HEADINGS, byNumber.map(cellsOf));
}

/** One finished row as text. */
export function formatRow(row: RowResult): string {
  if ('failed' in row) return `  NOT RUN: ${row.failed}`;
  const { counts, broken, drainMs } = row;
  return [
    `  ${isWell(row) ? 'kept' : 'BROKEN'}: ${counts.acknowledged} acknowledged of ${counts.attempts}, ${counts.refused} refused, ${counts.indeterminate} indeterminate, ${counts.undetermined} rules undetermined, ${counts.duplicates} delivered and ${counts.evaluatedAgain} evaluated again, drained in ${drainMs} ms`,
    ...figuresOf(row).map((figure) => `    ${figure}`),
    ...Object.entries(broken).map(
      ([kind, ids]) =>
        `    ${kind}: ${ids.length} (${ids.slice(0, SHOWN_MAX).join(', ')}${ids.length > SHOWN_MAX ? ', …' : ''})`,
    ),
  ].join('\n');
}
