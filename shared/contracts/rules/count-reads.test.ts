import { ZERO_ADDRESS } from './address.ts';
import { countReads, makeReadBound, makeReadCounter, needsMoreReads } from './count-reads.ts';
import type { Condition } from './rule.ts';

const address = (place: number) => `0x${String(place).padStart(40, '0')}`;
const [ONE, TWO] = [address(1), address(2)];
const TOKEN = address(100);
const erc20: Condition = { type: 'ERC20', chainId: 1, contractAddress: TOKEN, minToken: '1' };
const owned: Condition = { ...erc20, type: 'ERC721', tokenId: '1-3' };
const sums: Condition = { ...erc20, type: 'ERC1155', tokenId: '1-3' };
const counted: Condition = { ...erc20, type: 'ERC721' };
const call = (input: string, arg: string): Condition => ({
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: TOKEN,
  function: `function f(${input} x) view returns (bool)`,
  args: [arg],
});
const callOfTwo: Condition = {
  ...{ type: 'CONTRACT', chainId: 1, contractAddress: TOKEN },
  function: 'function f(address a, address b) view returns (bool)',
};
const OF_ALL = { account: ONE, accounts: [ONE, TWO], vaults: [address(3), address(4), address(5)] };

it.each<[string, number, number, Condition[]]>([
  ['a balance of each wallet, and each delegation', 1, 5 + 6, [erc20]],
  [
    'a native balance of each wallet, and each delegation',
    1,
    5 + 6,
    [{ type: 'NATIVE', chainId: 1, minToken: '1' }],
  ],
  ['an owner once for all wallets, and each delegation of an id', 3, 3 + 3 * 6, [owned]],
  ['a balance of an id for each wallet, and each delegation of an id', 3, 3 * 5 + 3 * 6, [sums]],
  ['a call for each wallet that it names', 1, 5 + 6, [call('address', '$account')]],
  ['a call that names none once', 1, 1 + 6, [call('address', TWO)]],
  ['a call with a text that only looks like the wallet once', 1, 1 + 6, [call('string', '$account')]],
  [
    'calls that differ only in which input is the wallet and which the zero address',
    2,
    10 + 6,
    [
      { ...callOfTwo, args: ['$account', ZERO_ADDRESS] },
      { ...callOfTwo, args: [ZERO_ADDRESS, '$account'] },
    ],
  ],
  [
    'a call once for each output that is compared, however its path is written',
    2,
    10 + 6,
    ['lock.end', '0.1', 'lock.amount'].map((returns) => ({
      ...callOfTwo,
      function: 'function lockOf(address) view returns ((uint256 amount, uint64 end) lock)',
      args: ['$account'],
      returns,
    })),
  ],
  ['equal reads of several rules once', 1, 5 + 6, [erc20, { ...erc20, minToken: '7' }]],
  [
    'rules inside of rules like any other',
    4,
    5 + 6 + 3 + 18,
    [{ type: 'ANY', rules: [erc20, { type: 'NONE', rules: [owned] }] }],
  ],
  [
    'the delegations of a contract once for its count and its calls',
    2,
    10 + 6,
    [counted, call('address', '$account')],
  ],
])('counts %s', (_, ofOne, ofAll, rules) => {
  expect(countReads({ account: ONE }, rules)).toBe(ofOne);
  expect(countReads(OF_ALL, rules)).toBe(ofAll);
});

it('counts a wallet once, whatever its case, and a vault that is an account as the account', () => {
  const mixed = '0xFB6916095CA1DF60BB79CE92CE3EA74C37C5D359';
  expect(countReads({ account: mixed, vaults: [mixed.toLowerCase()] }, [erc20])).toBe(1);
});

it('accepts a check at the bound on reads, and reports one above it', () => {
  const rules = Array.from(
    { length: 8 },
    (_, index): Condition => ({ ...sums, tokenId: `${index * 250}-${index * 250 + 249}` }),
  );
  expect(needsMoreReads({ account: ONE }, rules, 2_000)).toBe(false);
  expect(needsMoreReads({ account: ONE }, [...rules, erc20], 2_000)).toBe(true);
  expect(needsMoreReads({ account: ONE, accounts: [ONE, TWO] }, rules, 2_000)).toBe(true);
});

it('accepts and reports as many reads as counting finds, whatever the rules and wallets are', () => {
  const rules = [erc20, owned, { ...owned, tokenId: '7' }, sums, { ...sums, tokenId: '7' }, counted];
  const composed: Condition[] = [...rules, { type: 'ANY', rules: [erc20, { ...sums, tokenId: '8' }] }];
  const groups = [
    { account: ONE },
    { account: ONE, accounts: [ONE, ONE] },
    { account: ONE, vaults: [TWO] },
    { ...OF_ALL },
  ];
  for (const wallets of groups)
    for (const some of [...rules.map((rule) => [rule]), rules, composed]) {
      const count = countReads(wallets, some);
      expect(needsMoreReads(wallets, some, count)).toBe(false);
      expect(needsMoreReads(wallets, some, count - 1)).toBe(true);
      expect(makeReadBound(some)(wallets)).toBeGreaterThanOrEqual(count);
    }
});

it.each<[string, number, number, Condition[]]>([
  ['ids', 3, 3, [{ ...sums, tokenId: '5,6,7' }]],
  ['repeated ids as often as they are there', 3, 9, [{ ...sums, tokenId: '1-3,1-3,1-3' }]],
  ['a list at no more than a list may have', 256, 256, [{ ...sums, tokenId: '0-255,0-255' }]],
  [
    'a range of numbers that are not exact',
    2,
    256,
    [{ ...sums, tokenId: `${10n ** 30n}-${10n ** 30n + 1n}` }],
  ],
  ['malformed lists', 1, 256, [{ ...sums, tokenId: '1-x' }]],
  ['reversed ranges', 1, 256, [{ ...sums, tokenId: '9-1' }]],
  ['equal lists once', 3, 3, [owned, { ...owned, minToken: '2' }]],
  ['calls as often as they are there', 1, 2, [call('address', '$account'), call('address', '$account')]],
  ['rules inside of rules', 4, 4, [{ type: 'ANY', rules: [erc20, { type: 'NONE', rules: [owned] }] }]],
])('bounds %s', (_, count, bound, rules) => {
  expect([countReads({ account: ONE }, rules), makeReadBound(rules)({ account: ONE })]).toEqual([
    count,
    bound,
  ]);
  expect(makeReadBound(rules)(OF_ALL)).toBeGreaterThanOrEqual(countReads(OF_ALL, rules));
});

it('stops counting above the bound', () => {
  const rules = Array.from(
    { length: 1_000 },
    (_, index): Condition => ({ ...sums, contractAddress: address(index) }),
  );
  expect(needsMoreReads({ account: ONE }, rules, 30)).toBe(true);
  expect(makeReadCounter(rules, 30)({ account: ONE })).toBe(33);
});
