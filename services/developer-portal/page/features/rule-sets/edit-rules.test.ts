import {
  canShow,
  chainsOf,
  countRules,
  memberOf,
  newRule,
  textOf,
  withMember,
  withType,
} from './edit-rules.ts';

const ADDRESS = `0x${'1'.repeat(40)}`;
const call = { contractAddress: ADDRESS, function: 'function price() view returns (uint256)' };

test.each([
  ['chainId', 10],
  ['chainId', 'one'],
  ['atLeast', 2],
  ['decimals', 0],
  ['minToken', '1500.5'],
  ['args', ['$account', '7']],
  ['times', '1.5'],
  ['times', call],
  ['roleId', ' gold member '],
])('a field shows the member %s with %j, and gives the same value back', (name, value) => {
  expect(memberOf(name, textOf(value))).toEqual(value);
});

test('a faulty value is shown as text, so that it can be corrected', () => {
  expect([5, true, {}, null, undefined].map(textOf)).toEqual(['5', 'true', '{}', 'null', '']);
  expect(memberOf('chainId', '1x')).toBe('1x');
  expect(memberOf('times', '{"half')).toBe('{"half');
});

test('an empty field is no member, and the members without a field stay', () => {
  const rule = { type: 'NATIVE', minToken: '1', name: 'Fund', shape: { round: true } };
  expect(withMember(rule, 'minToken', memberOf('minToken', ' '))).toEqual({
    type: 'NATIVE',
    name: 'Fund',
    shape: { round: true },
  });
  expect(Object.keys(withMember(rule, 'minToken', '2'))).toEqual(Object.keys(rule));
});

test('a rule of another type drops what the new type has no field for, and keeps the rest', () => {
  const token = { ...newRule(10, 'vip'), contractAddress: ADDRESS, minToken: '2', name: 'Fund' };
  expect(withType(token, 'NATIVE', false)).toEqual({
    type: 'NATIVE',
    chainId: 10,
    minToken: '2',
    name: 'Fund',
    roleId: 'vip',
  });
  const sum = withType(token, 'SUM', false);
  expect(sum).toEqual({ type: 'SUM', minToken: '2', name: 'Fund', roleId: 'vip', rules: [newRule(10)] });
  expect(withType(sum, 'AT_LEAST', false)).toMatchObject({ atLeast: 1, rules: [newRule(10)], roleId: 'vip' });
  expect(withType(sum, 'ERC721', false)).toEqual({
    type: 'ERC721',
    chainId: 10,
    minToken: '2',
    name: 'Fund',
    roleId: 'vip',
  });
  expect(withType(token, 'ERC1155', true)).not.toHaveProperty('minToken');
});

test('the rules inside of others count, and their chains are found', () => {
  const inner = { type: 'SUM', rules: [newRule(1), newRule(10)] };
  const rules = [newRule(5, 'a'), { type: 'ANY', rules: [inner, newRule(1)] }];
  expect([countRules(rules), chainsOf(rules)]).toEqual([6, ['5', '1', '10']]);
});

test.each([[[]], [null], ['text'], [{ rules: 5 }], [{ rules: [null] }], [{ rules: [{ rules: 'x' }] }]])(
  'the form does not pretend to show %j',
  (value) => {
    expect(canShow(value)).toBe(false);
  },
);

test('the form shows a check without rules, and one whose rules it does not know', () => {
  expect(canShow({ ruleSet: 'vip' })).toBe(true);
  expect(canShow({ rules: [{ type: 'ERC9999', shape: { round: true } }] })).toBe(true);
});
