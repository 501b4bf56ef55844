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
  expect(csvHeader(['a', 'b', 'c'])).toBe(
    '"index","id","wallets","status","role a","role b","role c","errors","blocks"\r\n',
  );
  expect(csvRow(line, ['a', 'b', 'c'])).toBe(
    '"0","42","0xab","completed","granted","denied","undetermined","c: rpc-timeout","1: 21000000"\r\n',
  );
});

test('a row of a failed entry denies nothing', () => {
  const line = aLine({ status: 'failed', errors: [unread()], blockNumbers: {} });
  expect(csvRow(line, ['a'])).toBe('"0","","0xab","failed","undetermined","rpc-timeout",""\r\n');
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
  expect(csvRow(aLine({ ref }), [])).toBe(`"0",${cell},"0xab","completed","","1: 21000000"\r\n`);
});

test('a role id is safe in the header, and a failed role id in the errors', () => {
  expect(csvHeader(['"=1'])).toContain(',"role ""=1",');
  expect(csvRow(aLine({ errors: [unread('=1')] }), [])).toContain(`"'=1: rpc-timeout"`);
});
