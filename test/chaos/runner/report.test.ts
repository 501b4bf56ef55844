import { formatTable } from './report.ts';
import type { RowReport } from './run-row.ts';
import { isWell } from './run-rows.ts';

const aRow = (more: Partial<RowReport> = {}): RowReport => ({
  id: 'F2',
  title: 'a fault',
  counts: {
    ...{ attempts: 9, acknowledged: 9, refused: 0, indeterminate: 0, undetermined: 0 },
    ...{ duplicates: 1, evaluatedAgain: 2 },
  },
  drainMs: 5,
  figures: [{ what: 'pause', measured: '9 s', goal: '≤ 5 s', met: false }],
  broken: {},
  ...more,
});

test('a missed number is shown and does not fail the run', () => {
  expect(isWell(aRow())).toBe(true);
  expect(formatTable([aRow()])).toContain(
    '| F2 | a fault | 0 | 0 | 0 | 1 + 2 of 9 | pause 9 s (≤ 5 s, missed) | kept |',
  );
});

test('a broken promise fails the run, and so does a row that could not run', () => {
  expect(isWell(aRow({ broken: { lost: ['r1'], late: ['r2'] } }))).toBe(false);
  expect(formatTable([aRow({ broken: { lost: ['r1'], late: ['r2'] } })])).toContain('| 1 | 0 | 1 |');
  const failed = { id: 'F3', title: 'another', failed: 'no broker' };
  expect(isWell(failed)).toBe(false);
  expect(formatTable([failed])).toContain('no broker | NOT RUN |');
});
