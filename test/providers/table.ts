import type { Profile } from './profile.ts';
import type { Outcome } from './run-profile.ts';

/** A profile's outcomes, and those of the healthy provider with the same block time in the same
 * run. */
export type Row = {
  readonly profile: Profile;
  readonly blockTimeMs: number;
  readonly quorum: number;
  readonly beside: Outcome;
  readonly alone: Outcome;
  readonly healthy: { readonly beside: Outcome; readonly alone: Outcome };
};

/** Calls that a read batch may cost at each endpoint of the quorum beyond the healthy provider's
 * calls. */
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

const allowedCalls = (outcome: Outcome, healthy: Outcome, quorum: number): number =>
  healthy.callCount + CALLS_PER_BATCH * quorum * outcome.batchCount;

const allFailures = ({ failed }: Outcome): string[] => [
  ...failed.warmUp,
  ...failed.ordinary,
  ...failed.hostile,
];

/** The share of the checks of a phase that failed. A busy machine sends fewer checks in one phase
 * than in the other. */
const shareOf = ({ failed, checkCount }: Outcome, phase: 'ordinary' | 'hostile'): number =>
  checkCount[phase] === 0 ? 0 : failed[phase].length / checkCount[phase];

/** The broken promises of a row, each with what broke it. */
export function brokenOf({ profile, quorum, beside, alone, healthy }: Row): string[] {
  const both = [beside, alone];
  const calls = [
    { where: 'beside', own: beside, other: healthy.beside },
    { where: 'alone', own: alone, other: healthy.alone },
  ].filter(({ own, other }) => own.callCount > allowedCalls(own, other, quorum));
  const all = {
    lost: both.flatMap(({ lost }) => lost),
    unread: (profile.isUsedUp ? [beside] : both).flatMap(({ unread }) => unread),
    wrong: both.flatMap(({ wrong }) => wrong),
    'failed beside a healthy endpoint': allFailures(beside),
    'failed alone': profile.isUsedUp ? [] : [...alone.failed.warmUp, ...alone.failed.ordinary],
    'failed through the hostile client':
      !profile.isUsedUp && shareOf(alone, 'hostile') > shareOf(alone, 'ordinary') ? alone.failed.hostile : [],
    'too many calls': calls.map(
      ({ where, own, other }) => `${own.callCount} ${where}, at most ${allowedCalls(own, other, quorum)}`,
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

function cellsOf({ profile, blockTimeMs, quorum, beside, alone, healthy }: Row): string[] {
  const states = [...new Set([...beside.states, ...alone.states])];
  return [
    profile.name,
    `${blockTimeMs} ms`,
    String(beside.lost.length + alone.lost.length),
    String(beside.wrong.length + alone.wrong.length),
    String(allFailures(beside).length),
    `${alone.failed.ordinary.length} (${alone.failed.hostile.length})`,
    `${alone.callCount} (${allowedCalls(alone, healthy.alone, quorum)})`,
    states.join(', '),
  ];
}
