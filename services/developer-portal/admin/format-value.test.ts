import { formatValue } from './format-value.ts';

test('a list of objects is a table with a column for each member of any of them', () => {
  const rows = [
    { clientId: 'app_1', suspended: false },
    { clientId: 'app_22', limits: { rps: 5, keys: [] } },
  ];
  expect(formatValue(rows)).toBe(
    ['clientId  suspended  limits', 'app_1     no         -', 'app_22    -          rps 5, keys none'].join(
      '\n',
    ),
  );
  expect(formatValue([])).toBe('none');
});

test('an object is a line for each member, and its lists are tables under their names', () => {
  const value = { tier: 'paid', owner: null, lag: [{ group: 'g', lag: 3 }], endpoints: [] };
  expect(formatValue(value)).toBe(
    ['tier       paid', 'owner      -', 'endpoints  none', 'lag:', '  group  lag', '  g      3'].join('\n'),
  );
});

test('wide characters keep the columns, and control characters of a client do not reach the terminal', () => {
  const [, first, second] = formatValue([
    { name: '日本', id: 1 },
    { name: '\u001b[2J\n\u202e', id: 2 },
  ]).split('\n');
  expect(first).toBe('日本                   1');
  expect(second).toBe('\\u001b[2J\\u000a\\u202e  2');
});

test('a text stays as it is', () => {
  expect(formatValue('A=1\nB=2')).toBe('A=1\nB=2');
});
