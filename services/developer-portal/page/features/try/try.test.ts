import { lineOf, parseJson } from '../../lib/parse-json.js';
import { buildCheck, newForm, newRule } from './build-check.js';
import { checkOfFragment, FRAGMENT_CHARS_MAX, fragmentOf } from './check-address.js';
import { makeExamples } from './check-examples.js';
import { readCheck } from './read-check.js';

const ADDRESS = `0x${'1'.repeat(40)}`;
const demo = {
  chainId: 31_337,
  holder: ADDRESS,
  stranger: ADDRESS,
  erc20: ADDRESS,
  erc721: ADDRESS,
  erc1155: ADDRESS,
};
/** The check that the form makes of a check. */
const throughForm = (check: unknown) => {
  const form = readCheck(check);
  if (!form) throw new Error('the form cannot show it');
  return buildCheck(form);
};
const examples = makeExamples(demo, 1);

test.each(examples)('the form shows the example "%s" without a loss', (_, check) => {
  expect(throughForm(check)).toEqual(check);
});

test('the form keeps members that it has no field for, of the check and of its rules', () => {
  const check = {
    account: ADDRESS,
    proof: true,
    callbackUrl: 'https://example.com/hook',
    consistency: { blockTag: 'safe', minBlock: { 1: 9 }, atBlock: { 10: 5 } },
    rules: [
      { type: 'NATIVE', chainId: 1, minToken: '1', name: 'Fund', tokenId: '7', roleId: 'a' },
      { type: 'ERC9999', chainId: 10, shape: { round: true }, roleId: 'b' },
    ],
  };
  expect(throughForm(check)).toEqual(check);
  const bySet = { accounts: [ADDRESS, ADDRESS], async: true, ruleSet: 'vip' };
  expect(throughForm(bySet)).toEqual(bySet);
});

test('a sum is shown with its terms, and keeps the weights that are calls', () => {
  const call = { contractAddress: ADDRESS, function: 'function price() view returns (uint256)' };
  const staked = {
    ...{ type: 'CONTRACT', chainId: 10, contractAddress: ADDRESS, decimals: 18, args: ['$account'] },
    function: 'function stakedOf(address) view returns (uint256)',
  };
  const sum = {
    ...{ type: 'SUM', minToken: '10', roleId: 'whale' },
    rules: [
      { type: 'NATIVE', chainId: 1, times: '1.5' },
      { ...staked, times: call, per: call },
    ],
  };
  const check = {
    account: ADDRESS,
    rules: [sum, { type: 'ANY', rules: [{ ...sum, roleId: undefined }], roleId: 'r' }],
  };
  const sent = JSON.parse(JSON.stringify(check));
  expect(throughForm(sent)).toEqual(sent);
  expect(readCheck(sent)?.rules[0]?.rules[1]).toMatchObject({
    decimals: '18',
    times: '',
    extra: { times: call },
  });
});

test('the form shows a faulty value as text, so that it can be corrected', () => {
  const form = readCheck({ account: ADDRESS, rules: [{ type: 'NATIVE', chainId: 'one', minToken: 5 }] });
  expect(form?.rules[0]).toMatchObject({ chainId: 'one', minToken: '5', roleId: '' });
});

test.each([
  [[]],
  [null],
  ['text'],
  [{ rules: 5 }],
  [{ rules: [null] }],
  [{ account: {}, rules: [] }],
  [{ account: ADDRESS, accounts: [ADDRESS], rules: [] }],
  [{ async: 'yes', rules: [] }],
  [{ consistency: { atBlock: 7 }, rules: [] }],
  [{ rules: [{ type: 'CONTRACT', args: ['two\nlines'] }] }],
  [{ rules: [{ type: 'ALL', rules: [{ type: 'NATIVE', roleId: 'inner' }] }] }],
  [{ rules: [{ type: 'SUM', chainId: 1, rules: [{ type: 'NATIVE' }] }] }],
  [{ rules: [{ type: 'SUM', rules: [{ type: 'ANY', rules: [{ type: 'NATIVE' }] }] }] }],
])('the form does not pretend to show %j', (value) => {
  expect(readCheck(value)).toBeUndefined();
});

test('a JSON text gives the line of each value by its pointer', () => {
  const check = buildCheck({ ...newForm('1'), rules: [newRule(1, '1'), newRule(2, '1')] });
  const text = JSON.stringify({ ...check, 'a/b~': [true, [-1.5e3]] }, null, 2);
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
