import { lineOf, parseJson } from '../../lib/parse-json.ts';
import { checkOfFragment, FRAGMENT_CHARS_MAX, fragmentOf } from './check-address.ts';

const ADDRESS = `0x${'1'.repeat(40)}`;

test('a JSON text gives the line of each value by its pointer', () => {
  const rules = ['role-1', 'role-2'].map((roleId) => ({ type: 'NATIVE', roleId }));
  const text = JSON.stringify({ rules, 'a/b~': [true, [-1.5e3]] }, null, 2);
  const { value, lines } = parseJson(text);
  expect(value).toEqual(JSON.parse(text));
  const row = (pointer: string) => text.split('\n')[lineOf(lines, pointer) - 1]?.trim();
  expect(row('/rules/1/roleId')).toBe('"roleId": "role-2"');
  expect(row('/a~1b~0/1/0')).toBe('-1500');
  // A missing member is shown where the object begins.
  expect(lineOf(lines, '/rules/1/contractAddress')).toBe(lineOf(lines, '/rules/1'));
  expect([lineOf(lines, ''), lineOf(lines, '/unknown')]).toEqual([1, 1]);
});

test('a byte-order mark in front of a JSON text is not a fault, and moves no column', () => {
  expect(parseJson('\ufeff{"a": 1}\r\n').value).toEqual({ a: 1 });
  expect(parseJson('\ufeff{"a" 1}').fault?.text).toBe('Line 1, column 6: expected a colon.');
});

test.each([
  ['', 'Line 1, column 1: expected a value.'],
  ['{"a" 1}', 'Line 1, column 6: expected a colon.'],
  ['{\n  "a": 1\n  "b": 2\n}', 'Line 3, column 3: expected a comma or the closing bracket.'],
  ['{"a": 1,}', 'Line 1, column 9: expected a name in double quotes.'],
  ['[1, ]', 'Line 1, column 5: expected a value.'],
  ['[1}', 'Line 1, column 3: expected a comma or the closing bracket.'],
  ['{a: 1}', 'Line 1, column 2: expected a name in double quotes or }.'],
  ['{} {}', 'Line 1, column 4: expected nothing more.'],
  ['{"a": 01}', 'Line 1, column 8: expected a comma or the closing bracket.'],
  ['["\n"]', 'Line 1, column 2: expected a value or ].'],
  ['['.repeat(33), 'Line 1, column 33: at most 32 nested brackets.'],
])('the first fault of %j is reported by its line', (text, words) => {
  expect(parseJson(text).fault?.text).toBe(words);
  if (!text.startsWith('[[')) expect(() => JSON.parse(text)).toThrow();
});

test('the address keeps a check, and neither a long one nor one with an API key', () => {
  const check = { account: ADDRESS, rules: [{ type: 'NATIVE', roleId: 'größer ≥ 1 👑' }] };
  expect(checkOfFragment(fragmentOf(check) ?? '')).toEqual(check);
  expect(fragmentOf(check)).toMatch(/^#check=[\w-]+$/);
  expect(fragmentOf({ ...check, note: 'rck_live_abc' })).toBeUndefined();
  expect(fragmentOf({ ...check, note: 'x'.repeat(FRAGMENT_CHARS_MAX) })).toBeUndefined();
});

test.each(['', '#main', '#check=', '#check=!!', '#check=bnVsbA', '#check=_w', `#check=${'A'.repeat(9_000)}`])(
  'the address %s holds no check',
  (fragment) => {
    expect(checkOfFragment(fragment)).toBeUndefined();
  },
);
