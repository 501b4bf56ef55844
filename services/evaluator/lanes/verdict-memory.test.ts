import { VerdictMemory } from './verdict-memory.ts';

const consistency = { blockTag: 'latest', minBlock: {} } as const;
const check = { account: `0x${'aB'.repeat(20)}`, consistency };
const rule = {
  type: 'ERC20',
  chainId: 1,
  contractAddress: `0x${'cD'.repeat(20)}`,
  roleId: 'a',
  minToken: '5',
} as const;

test('distinguishes a repeated verdict from a flipped one, and remembers the newest', () => {
  const note = new VerdictMemory().ofCheck(check);
  const said = [true, true, false, false, true].map((granted) => note(rule, granted));
  expect(said).toEqual([undefined, 'same', 'granted-to-denied', 'same', 'denied-to-granted']);
});

test('an equal question with another role id or letter case is recognised', () => {
  const memory = new VerdictMemory();
  memory.ofCheck(check)(rule, true);
  const same = { ...rule, roleId: 'b', contractAddress: rule.contractAddress.toLowerCase() };
  expect(memory.ofCheck({ ...check, account: check.account.toLowerCase() })(same, true)).toBe('same');
});

test.each([
  ['account', { ...check, account: `0x${'12'.repeat(20)}` }, rule],
  ['second account', { ...check, accounts: [check.account, `0x${'12'.repeat(20)}`] }, rule],
  ['vault', { ...check, vaults: [`0x${'12'.repeat(20)}`] }, rule],
  ['block of the past', { ...check, consistency: { ...consistency, atBlock: { '1': 7 } } }, rule],
  ['block tag', { ...check, consistency: { ...consistency, blockTag: 'safe' as const } }, rule],
  ['chain', check, { ...rule, chainId: 10 }],
  ['amount', check, { ...rule, minToken: '6' }],
  ['bound above', check, { ...rule, maxToken: '9' }],
  ['token', check, { ...rule, tokenId: '1' }],
])('another %s is another question', (_, otherCheck, otherRule) => {
  const memory = new VerdictMemory();
  memory.ofCheck(check)(rule, true);
  expect(memory.ofCheck(otherCheck)(otherRule, false)).toBeUndefined();
});

test('no two of a hundred thousand questions are confused', () => {
  const note = new VerdictMemory().ofCheck(check);
  const asked = Array.from({ length: 100_000 }, (_, index) => ({ ...rule, minToken: String(index) }));
  // One comparison: a hundred thousand expectations take ten seconds.
  expect(asked.filter((each) => note(each, true) !== undefined)).toEqual([]);
  const known = asked.filter((each) => note(each, true) === 'same');
  expect(known.length).toBeGreaterThan(60_000);
});
