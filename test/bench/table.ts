import { formatMarkdown } from '../support/figures/format-markdown.ts';
import { formatNumber } from '../support/figures/format-number.ts';

/** The goal of a row: a bound on its value, on its ratio to the alternative, or on its difference
 * from it. */
export type Goal = {
  readonly of: 'value' | 'ratio' | 'difference';
  readonly min?: number;
  readonly max?: number;
};

/** One row of a benchmark: a figure, beside its alternative from the same run. */
export type Row = {
  readonly what: string;
  readonly measured: number;
  readonly unit: string;
  /** The alternative, in the same unit: measured in the same run, or published elsewhere if its
   * name says so. */
  readonly against?: { readonly what: string; readonly measured: number };
  /** Printed beside the row with its verdict, never asserted. */
  readonly goal?: Goal;
};

/** The rows of one benchmark. */
export type Table = {
  readonly title: string;
  readonly rows: readonly Row[];
  /** Conditions that a reader needs to judge the figures: sizes, latencies, counts. */
  readonly notes?: readonly string[];
};

type Judgement = {
  /** Absent without an alternative. */
  readonly ratio?: number;
  /** The goal in words, empty if there is none. */
  readonly goal: string;
  /** `met`, or by how much the goal is missed; empty without a goal. */
  readonly verdict: string;
};

/**
 * Compares a row with its goal.
 *
 * @throws Error if the goal compares and there is no alternative, or if a figure is not a finite
 *   number
 *
 * @example
 * judgeRow({ what: 'w', measured: 30, unit: '1/s', against: { what: 'a', measured: 1 }, goal: { of: 'ratio', min: 40 } });
 * // { ratio: 30, goal: '≥ 40 ×', verdict: 'missed by 25 %' }
 */
export function judgeRow(row: Row): Judgement {
  const { what, measured, against, goal } = row;
  for (const value of [measured, against?.measured ?? 0])
    if (!Number.isFinite(value)) throw new Error(`${what}: ${value} is not a figure`);
  const ratio = against && against.measured > 0 ? measured / against.measured : undefined;
  const compared = ratio === undefined ? {} : { ratio };
  if (!goal) return { ...compared, goal: '', verdict: '' };
  const value = boundedOf(row, goal, ratio);
  return { ...compared, goal: describeGoal(goal, row.unit), verdict: describeVerdict(value, goal) };
}

function boundedOf({ what, measured, against }: Row, goal: Goal, ratio: number | undefined): number {
  if (goal.of === 'value') return measured;
  if (goal.of === 'ratio' && ratio !== undefined) return ratio;
  if (goal.of === 'difference' && against) return measured - against.measured;
  throw new Error(`${what}: there is nothing to compare with`);
}

const describeGoal = ({ of, min, max }: Goal, unit: string): string => {
  const bound = min === undefined ? `≤ ${max}` : `≥ ${min}`;
  return `${bound} ${of === 'ratio' ? '×' : unit}${of === 'difference' ? ' more' : ''}`;
};

function describeVerdict(value: number, { min, max }: Goal): string {
  const short = min === undefined ? 0 : (min - value) / min;
  const over = max === undefined ? 0 : (value - max) / max;
  const miss = Math.max(short, over);
  if (miss <= 0) return 'met';
  return `missed by ${miss < 0.01 ? 'less than 1' : Math.round(miss * 100)} %`;
}

const HEADINGS = ['what', 'measured', 'alternative', 'ratio', 'goal', 'result'] as const;

/** The cells of a row as text: what, measured, alternative, ratio, goal, verdict. */
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
 * The table as Markdown, which can be read in a terminal too.
 *
 * @example
 * formatTable({ title: 'gateway', rows: [{ what: 'accepted checks', measured: 5200, unit: '1/CPU s' }] });
 */
export const formatTable = ({ title, rows, notes = [] }: Table): string =>
  ['', title, '', formatMarkdown(HEADINGS, rows.map(cellsOf)), '', ...notes].join('\n');
