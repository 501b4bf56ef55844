import { join } from 'node:path';
import { type Marks, writeMarked } from '../support/figures/marked-text.ts';
import { type Results, WHOLE_PARTS } from './results.ts';
import { cellsOf } from './table.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** Every figure of the newest run. */
export const FIGURES_FILE = join(import.meta.dirname, 'README.md');
/** A few of them. */
export const README = join(ROOT, 'README.md');
/** The rows that the README shows: the first row with a goal for each name. */
const HIGHLIGHTS = [
  'balances, checks of 100',
  'RPC calls, 1 000 checks of 3 rules',
  'completed checks of 3 rules, all processes',
  'entries of 3 rules, all processes',
  'sync check of 3 rules over an idle system, p50',
  'CPU per 1 000 webhooks, all processes',
  'latency at 50/s, p99',
];
export const FIGURES: Marks = {
  begin: '<!-- figures: written by npm run bench -->',
  end: '<!-- end of figures -->',
};
const COLUMNS = ['what', 'Rolecall', 'alternative', 'ratio', 'goal', 'result'];

/** All figures, as a markdown table. */
export function formatFigures({ machine, versions, parts }: Results): string {
  const dates = Object.values(parts)
    .map(({ at }) => at.slice(0, 10))
    .sort();
  const when = dates[0] === dates.at(-1) ? dates[0] : `${dates[0]} to ${dates.at(-1)}`;
  const list = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const missing = WHOLE_PARTS.filter((name) => !(name in parts));
  const tables = Object.values(parts).flatMap(({ rows }) => rows.map((row) => lineOf(cellsOf(row))));
  return [
    `Measured ${when} on ${machine.cores} cores (${machine.cpu}, ${machine.memoryGiB} GiB); ${list.join(', ')}.`,
    '',
    lineOf(COLUMNS),
    lineOf(COLUMNS.map(() => '---')),
    ...tables,
    '',
    ...(missing.length > 0 ? [`Not measured yet: ${missing.join(', ')}.`, ''] : []),
  ].join('\n');
}

const lineOf = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

/** The figures of the README, as a markdown table. */
export function formatHighlights({ parts }: Results): string {
  const rows = Object.values(parts).flatMap((part) => part.rows);
  const shown = HIGHLIGHTS.flatMap((name) => rows.find(({ what, goal }) => what === name && goal) ?? []);
  return [
    lineOf(COLUMNS),
    lineOf(COLUMNS.map(() => '---')),
    ...shown.map((row) => lineOf(cellsOf(row))),
  ].join('\n');
}

/** Writes the figures between the marks of both documents. */
export function writeFigures(results: Results): void {
  writeMarked(FIGURES_FILE, FIGURES, formatFigures(results).trimEnd());
  writeMarked(README, FIGURES, formatHighlights(results));
}
