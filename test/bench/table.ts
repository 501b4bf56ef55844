import { judgeRow } from './judge-row.ts';

/** What a row is to reach: a bound on its value, its ratio to the other side, or its difference from it. */
export type Goal = {
  readonly of: 'value' | 'ratio' | 'difference';
  readonly min?: number;
  readonly max?: number;
};

/** One line of a benchmark: what was measured, beside what it is compared with in the same run. */
export type Row = {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  /** The other side, in the same unit: measured in the same run, or known from elsewhere where its name says so. */
  readonly against?: { readonly what: string; readonly measured: number };
  /** As the design states it. Printed beside the row with its verdict, never asserted. */
  readonly goal?: Goal;
};

/** What one benchmark prints and writes. */
export type Table = {
  readonly title: string;
  readonly rows: readonly Row[];
  /** What a reader must know to judge the figures: sizes, latencies, counts. */
  readonly notes?: readonly string[];
};

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

/** Three significant figures for small numbers, none behind the point for large ones. */
export const formatNumber = (value: number): string =>
  Math.abs(value) >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
