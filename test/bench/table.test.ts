import { formatTable, judgeRow, type Row } from './table.ts';

const aRow = (over: Partial<Row> = {}): Row => ({
  what: 'balances',
  measured: 30,
  unit: '1/s',
  against: { what: 'others', measured: 1 },
  ...over,
});

test('a ratio below its goal shows by how much it misses', () => {
  expect(judgeRow(aRow({ goal: { of: 'ratio', min: 40 } }))).toEqual({
    ratio: 30,
    goal: '≥ 40 ×',
    verdict: 'missed by 25 %',
  });
});

test('a goal that is reached exactly is met', () => {
  expect(judgeRow(aRow({ goal: { of: 'ratio', min: 30 } })).verdict).toBe('met');
  expect(judgeRow(aRow({ goal: { of: 'value', max: 30 } })).verdict).toBe('met');
});

test('a difference is compared with its bound, not with the ratio', () => {
  const row = aRow({ measured: 12, against: { what: 'direct', measured: 3 }, unit: 'ms' });
  expect(judgeRow({ ...row, goal: { of: 'difference', max: 8 } })).toEqual({
    ratio: 4,
    goal: '≤ 8 ms more',
    verdict: 'missed by 13 %',
  });
});

test('the smallest miss is reported as a miss', () => {
  expect(judgeRow(aRow({ measured: 8.001, goal: { of: 'value', max: 8 } })).verdict).toBe(
    'missed by less than 1 %',
  );
});

test('a row without a goal has no verdict', () => {
  expect(judgeRow({ what: 'w', measured: 1, unit: 's' })).toEqual({ goal: '', verdict: '' });
});

test('a row without a finite number throws and is not printed', () => {
  expect(() => judgeRow(aRow({ measured: Number.NaN }))).toThrow('not a figure');
  expect(() => judgeRow(aRow({ against: { what: 'x', measured: Number.POSITIVE_INFINITY } }))).toThrow(
    'not a figure',
  );
});

test('a goal on a ratio needs an alternative to compare with', () => {
  const alone: Row = { what: 'w', measured: 1, unit: 's', goal: { of: 'ratio', min: 2 } };
  expect(() => judgeRow(alone)).toThrow('nothing to compare with');
});

test('a table shows each row beside its alternative, with its verdict', () => {
  const rows = [aRow({ goal: { of: 'ratio', min: 40 } })];
  expect(formatTable({ title: 'chain', rows })).toContain(
    '| balances | 30 1/s | 1 1/s (others) | 30 × | ≥ 40 × | missed by 25 % |',
  );
});
