import { formatNumber } from '../support/figures/format-number.ts';
import { judgeRow } from './judge-row.ts';
import type { Row, Table } from './row.ts';

const HEADINGS = ['what', 'measured', 'against', 'ratio', 'goal', ''] as const;

/** The cells of a row as text: what, measured, against, ratio, goal, verdict. */
export function cellsOf(row: Row): string[] {
  const { what, measured, unit, against } = row;
  const { ratio, goal, verdict } = judgeRow(row);
  return [
    what,
    `${formatNumber(measured)} ${unit}`,
    against ? `${formatNumber(against.measured)} ${unit} (${against.what})` : '',
    ratio === undefined ? '' : `${formatNumber(ratio)} ×`,
    goal,
    verdict,
  ];
}

/**
 * The table as text for a terminal, one line per row.
 *
 * @example
 * formatTable({ title: 'gateway', rows: [{ what: 'accepted checks', measured: 5200, unit: '1/CPU s' }] });
 */
export function formatTable({ title, rows, notes = [] }: Table): string {
  const cells = rows.map(cellsOf);
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: readonly string[]): string =>
    `  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd();
  return [
    '',
    title,
    line(HEADINGS),
    line(widths.map((width) => '-'.repeat(width))),
    ...cells.map(line),
    ...notes.map((note) => `  ${note}`),
  ].join('\n');
}
