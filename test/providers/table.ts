import type { Outcome } from './run-profile.ts';

/** A profile's outcomes, and those of the healthy provider with the same block time in the same run. */
export type Row = {
  readonly name: string;
  readonly blockTimeMs: number;
  readonly beside: Outcome;
  readonly alone: Outcome;
  readonly healthy: { readonly beside: Outcome; readonly alone: Outcome };
};

/** Calls that a read batch may cost beyond the healthy provider's calls. */
const CALLS_PER_BATCH = 2;
const SHOWN_MAX = 3;
const HEADINGS = [
  'provider',
  'block',
  'lost',
  'wrong',
  'failed beside',
  'failed alone (with the hostile client)',
  'calls (at most)',
  'following',
];

const allowedCalls = (outcome: Outcome, healthy: Outcome): number =>
  healthy.callCount + CALLS_PER_BATCH * outcome.batchCount;

const allFailures = ({ failed }: Outcome): string[] => [
  ...failed.warmUp,
  ...failed.ordinary,
  ...failed.hostile,
];

/** The broken promises of a row, each with what broke it. */
export function brokenOf({ beside, alone, healthy }: Row): string[] {
  const both = [beside, alone];
  const calls = [
    { where: 'beside', own: beside, other: healthy.beside },
    { where: 'alone', own: alone, other: healthy.alone },
  ].filter(({ own, other }) => own.callCount > allowedCalls(own, other));
  const all = {
    lost: both.flatMap(({ lost }) => lost),
    wrong: both.flatMap(({ wrong }) => wrong),
    'failed beside a healthy endpoint': allFailures(beside),
    'failed through the hostile client':
      alone.failed.hostile.length > alone.failed.ordinary.length ? alone.failed.hostile : [],
    'too many calls': calls.map(
      ({ where, own, other }) => `${own.callCount} ${where}, at most ${allowedCalls(own, other)}`,
    ),
  };
  return Object.entries(all).flatMap(([what, found]) =>
    found.length === 0 ? [] : [`${what}: ${found.length} (${tally(found)})`],
  );
}

/** The most frequent texts with their counts. */
function tally(texts: readonly string[]): string {
  const counts = [...Map.groupBy(texts, (text) => text)].map(([text, of]) => ({ text, count: of.length }));
  const most = counts.toSorted((a, b) => b.count - a.count).slice(0, SHOWN_MAX);
  return most.map(({ text, count }) => (count === 1 ? text : `${count} × ${text}`)).join('; ');
}

export function formatRows(rows: readonly Row[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(HEADINGS), line(HEADINGS.map(() => '---')), ...rows.map((row) => line(cellsOf(row)))].join(
    '\n',
  );
}

function cellsOf({ name, blockTimeMs, beside, alone, healthy }: Row): string[] {
  const states = [...new Set([...beside.states, ...alone.states])];
  return [
    name,
    `${blockTimeMs} ms`,
    String(beside.lost.length + alone.lost.length),
    String(beside.wrong.length + alone.wrong.length),
    String(allFailures(beside).length),
    `${alone.failed.ordinary.length} (${alone.failed.hostile.length})`,
    `${alone.callCount} (${allowedCalls(alone, healthy.alone)})`,
    states.join(', '),
  ];
}
