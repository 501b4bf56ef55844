import { type BatchLine, csvHeader, csvRow } from './batch-csv.ts';

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
