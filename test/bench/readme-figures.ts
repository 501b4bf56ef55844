import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Results, WHOLE_PARTS } from './results.ts';
import { cellsOf } from './table.ts';

export const README = join(import.meta.dirname, '..', '..', 'README.md');
const BEGIN = '<!-- figures: written by npm run bench -->';
const END = '<!-- end of figures -->';
const COLUMNS = ['what', 'Rolecall', 'beside it', 'ratio', 'goal', ''];

/** The README's table of figures, as markdown. */
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

/** What stands between the marks. @throws Error where the marks are missing */
export function readFigures(readme: string): string {
  const { from, to } = findMarks(readme);
  return readme.slice(from, to);
}

/** Puts the figures between the marks of the README. */
export function writeFigures(results: Results): void {
  const readme = readFileSync(README, 'utf8');
  const { from, to } = findMarks(readme);
  writeFileSync(README, `${readme.slice(0, from)}\n${formatFigures(results)}${readme.slice(to)}`);
}

function findMarks(readme: string): { from: number; to: number } {
  const from = readme.indexOf(BEGIN) + BEGIN.length;
  const to = readme.indexOf(END);
  if (from < BEGIN.length || to < from) throw new Error('the README has no place for the figures');
  return { from, to };
}
