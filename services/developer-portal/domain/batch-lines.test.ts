import { type BatchLine, csvHeader, csvRow, isSelected, rolesChanged, SELECTIONS } from './batch-lines.ts';

const aLine = (over: Partial<BatchLine> = {}): BatchLine => ({
  index: 0,
  account: '0xab',
  status: 'completed',
  roles: [],
  errors: [],
  blockNumbers: { '1': 21_000_000 },
  ...over,
});
const columns = (...roleIds: string[]) => ({ roleIds, isPreview: false });
const unread = (roleId?: string) => ({
  ...(roleId !== undefined && { roleId }),
  code: 'rpc-timeout',
  message: '',
  retryable: true,
});

test('a row has the verdict of every role, and a role that could not be read is undetermined', () => {
  const roles = [
    { id: 'a', granted: true },
    { id: 'b', granted: false },
  ];
  const line = aLine({ ref: '42', roles, errors: [unread('c')] });
  expect(csvHeader(columns('a', 'b', 'c'))).toBe(
    '"index","id","wallets","status","role a","role b","role c","errors","blocks"\r\n',
  );
  expect(csvRow(line, columns('a', 'b', 'c'))).toBe(
    '"0","42","0xab","completed","granted","denied","undetermined","c: rpc-timeout","1: 21000000"\r\n',
  );
});

test('a row of a preview has the verdict before beside each new one', () => {
  const preview = { roleIds: ['a', 'b'], isPreview: true };
  const line = aLine({ before: { a: true }, roles: [{ id: 'a', granted: false }], errors: [unread('b')] });
  expect(csvHeader(preview)).toContain('"status","before a","role a","before b","role b","errors"');
  expect(csvRow(line, preview)).toContain(
    '"completed","granted","denied","","undetermined","b: rpc-timeout"',
  );
});

test.each(['constructor', '__proto__', 'toString'])('a role %j without a verdict before has none', (id) => {
  const line = aLine({ before: {}, roles: [{ id, granted: true }] });
  expect(csvRow(line, { roleIds: [id], isPreview: true })).toContain('"completed","","granted",""');
});

test('a row of a failed entry denies nothing', () => {
  const line = aLine({ status: 'failed', errors: [unread()], blockNumbers: {} });
  expect(csvRow(line, columns('a'))).toBe('"0","","0xab","failed","undetermined","rpc-timeout",""\r\n');
});

test.each([
  ['=1+1', `"'=1+1"`],
  ['+1', `"'+1"`],
  ['-1', `"'-1"`],
  ['@SUM(A1)', `"'@SUM(A1)"`],
  ['  =1', `"'  =1"`],
  ['\t1', `"'\t1"`],
  ['\r=1', `"'\r=1"`],
  ['＝1', `"'＝1"`],
  ['a","=1', `"a"",""=1"`],
  ['1=1', '"1=1"'],
])('an id of %j stays one cell that no spreadsheet computes', (ref, cell) => {
  expect(csvRow(aLine({ ref }), columns())).toBe(`"0",${cell},"0xab","completed","","1: 21000000"\r\n`);
});

test('a role id is safe in the header, and a failed role id in the errors', () => {
  expect(csvHeader(columns('"=1'))).toContain(',"role ""=1",');
  expect(csvRow(aLine({ errors: [unread('=1')] }), columns())).toContain(`"'=1: rpc-timeout"`);
});

const anEntry = (over: Partial<BatchLine>): BatchLine => ({
  ...{ index: 0, account: '0x1', status: 'completed', roles: [], errors: [], blockNumbers: {} },
  ...over,
});
const unreadRole = { roleId: 'r', code: 'rpc-timeout', message: 'No answer.', retryable: true };
const granted = [{ id: 'r', granted: true }];
const denied = [{ id: 'r', granted: false }];

it.each<[string, Partial<BatchLine>, string[]]>([
  ['decided, outside of a preview', { roles: granted }, ['all']],
  ['without a change', { before: { r: true }, roles: granted }, ['all']],
  ['that gains a role', { before: { r: false }, roles: granted }, ['all', 'gained']],
  ['that loses a role', { before: { r: true }, roles: denied }, ['all', 'lost']],
  ['whose role was never decided before', { before: {}, roles: granted }, ['all']],
  ['with a role that could not be read', { before: { r: true }, errors: [unreadRole] }, ['all', 'unread']],
  [
    'that denies what could not be read',
    { before: { r: true }, roles: denied, errors: [unreadRole] },
    ['all', 'unread'],
  ],
  [
    'with a granted rule beside an unread one of the same role',
    { before: { r: false }, roles: granted, errors: [unreadRole] },
    ['all', 'unread', 'gained'],
  ],
  ['that failed', { before: { r: true }, status: 'failed' }, ['all', 'unread']],
])('an entry %s is among %j', (_, over, expected) => {
  expect(SELECTIONS.filter((selection) => isSelected(anEntry(over), selection))).toEqual(expected);
});

it('names the roles that change, and how', () => {
  const line = anEntry({
    before: { r: true, s: false, t: true },
    roles: [...denied, { id: 's', granted: true }],
  });
  expect(rolesChanged(line)).toEqual([
    { id: 'r', granted: false },
    { id: 's', granted: true },
  ]);
});
