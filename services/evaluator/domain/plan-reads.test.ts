import fc from 'fast-check';
import { countReads } from '#shared/contracts/rules/count-reads.ts';
import type { TokenRule } from '#shared/contracts/rules/rule.ts';
import { makePlanner, type ReadPlan } from './plan-reads.ts';

const ACCOUNT = '0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const chains = { delegateRegistry: () => `0x${'dd'.repeat(20)}`, nativeDecimals: () => 18 };
const TOKEN = `0x${'ab'.repeat(20)}`;
const aRule = (over: Partial<TokenRule>): TokenRule => ({
  type: 'ERC20',
  chainId: 1,
  contractAddress: TOKEN,
  roleId: 'r',
  minToken: '1',
  ...over,
});
const aNative = (chainId = 1): TokenRule => ({ type: 'NATIVE', chainId, roleId: 'r', minToken: '1' });

function planned(rules: readonly TokenRule[]): ReadPlan {
  const plan = makePlanner(rules, chains)({ account: ACCOUNT });
  if ('fault' in plan) throw new Error(plan.fault);
  return plan;
}
const kindsOf = (plan: ReadPlan) => [...plan.reads.values()].flat().map(({ kind, id }) => `${kind} ${id}`);

test.each<[string, TokenRule, string[]]>([
  ['ERC20 needs the balance and the decimals', aRule({}), ['balance 0', 'decimals 0']],
  ['ERC721 without ids needs the balance', aRule({ type: 'ERC721' }), ['balance 0']],
  [
    'ERC721 with ids needs their owners',
    aRule({ type: 'ERC721', tokenId: '2-3,7' }),
    ['owner 2', 'owner 3', 'owner 7'],
  ],
  [
    'ERC1155 needs a balance per id',
    aRule({ type: 'ERC1155', tokenId: '7,8' }),
    ['balance-of-id 7', 'balance-of-id 8'],
  ],
  ['NATIVE needs the account alone', aNative(), ['native 0']],
])('%s', (_, rule, expected) => {
  expect(kindsOf(planned([rule]))).toEqual(expected);
});

const aValidRule = fc.record({
  type: fc.constantFrom('ERC20', 'ERC721', 'ERC1155', 'NATIVE' as const),
  chainId: fc.integer({ min: 1, max: 3 }),
  contract: fc.constantFrom(TOKEN, TOKEN.toUpperCase().replace('0X', '0x'), `0x${'12'.repeat(20)}`),
  ids: fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 6 }),
  hasIds: fc.boolean(),
});

test('no read is ever planned twice, and the plan has as many as the gateway counted', () => {
  fc.assert(
    fc.property(fc.array(aValidRule, { minLength: 1, maxLength: 30 }), (shapes) => {
      const rules = shapes.map(({ type, chainId, contract, ids, hasIds }): TokenRule => {
        if (type === 'NATIVE') return aNative(chainId);
        const isListed = type === 'ERC1155' || (type === 'ERC721' && hasIds);
        return aRule({
          type,
          chainId,
          contractAddress: contract,
          ...(isListed ? { tokenId: ids.join(',') } : {}),
        });
      });
      const plan = planned(rules);
      const reads = [...plan.reads.values()].flat();
      expect(new Set(reads.map(({ key }) => key)).size).toBe(reads.length);
      const places = reads.map(({ chainId, kind, contract, id }) => `${chainId} ${kind} ${contract} ${id}`);
      expect(new Set(places).size).toBe(reads.length);
      expect(reads.filter(({ kind }) => kind !== 'decimals')).toHaveLength(
        countReads({ account: ACCOUNT }, rules),
      );
      expect(plan.needs).toHaveLength(rules.length);
    }),
  );
});

test('an address means the same read whatever its case', () => {
  const other = TOKEN.toUpperCase().replace('0X', '0x');
  expect(kindsOf(planned([aRule({}), aRule({ contractAddress: other })]))).toHaveLength(2);
});

test('an owner and the decimals are the same read for every account', () => {
  const rules = [aRule({ type: 'ERC721', tokenId: '1' }), aRule({})];
  const keysFor = (account: string) => {
    const plan = makePlanner(rules, chains)({ account });
    return 'fault' in plan ? [] : [...plan.reads.values()].flat().map(({ kind, key }) => `${kind}: ${key}`);
  };
  const shared = keysFor(ACCOUNT).filter((key) => keysFor(`0x${'1'.repeat(40)}`).includes(key));
  expect(shared.map((key) => key.split(':')[0])).toEqual(['owner', 'decimals']);
});

test.each<[string, TokenRule]>([
  ['no contract address', { type: 'ERC20', chainId: 1, roleId: 'r', minToken: '1' }],
  ['a malformed contract address', aRule({ contractAddress: '0x12' })],
  ['ERC1155 without ids', aRule({ type: 'ERC1155' })],
  ['malformed ids', aRule({ type: 'ERC721', tokenId: '3-1' })],
  ['too many ids', aRule({ type: 'ERC1155', tokenId: '0-256' })],
  ['ids of an ERC20', aRule({ tokenId: '1' })],
  ['a contract of the native coin', { ...aNative(), contractAddress: TOKEN }],
  ['ids of the native coin', { ...aNative(), tokenId: '1' }],
])('a rule that the gateway would have refused is named and not planned: %s', (_, rule) => {
  expect(makePlanner([aNative(), rule], chains)({ account: ACCOUNT })).toEqual({
    fault: expect.stringContaining('rule 1: '),
  });
});

test('a malformed account is named and not planned', () => {
  expect(makePlanner([aNative()], chains)({ account: 'vitalik.eth' })).toEqual({
    fault: 'the account is not an address',
  });
});

test('a planner plans each person as alone, and a read that several of them need once', () => {
  const other = `0x${'1'.repeat(40)}`;
  const rules = [aRule({}), aRule({ type: 'ERC721', tokenId: '2' }), aNative(2)];
  const vaults = [`0x${'2'.repeat(40)}`];
  const groups = [{ account: ACCOUNT }, { account: other, vaults }, { account: other }, { account: ACCOUNT }];
  const planWallets = makePlanner(rules, chains);
  const keysOf = (plan: ReturnType<typeof planWallets>) =>
    'fault' in plan ? [] : [...plan.reads.values()].flat().map(({ key }) => key);
  const together = groups.map(planWallets);
  for (const [place, group] of groups.entries())
    expect(together[place]).toMatchObject({
      needs: (makePlanner(rules, chains)(group) as ReadPlan).needs,
    });
  const alone = groups.flatMap((group) => keysOf(makePlanner(rules, chains)(group)));
  expect(keysOf(together[0] ?? { fault: '' }).sort()).toEqual([...new Set(alone)].sort());
});

test('a read names the first entry that needs it', () => {
  const planWallets = makePlanner([aRule({ type: 'ERC721' })], chains);
  const [first, second] = ['1', '2'].map((digit) => `0x${digit.repeat(40)}`);
  for (const account of [first, second, first]) planWallets({ account: account ?? '' });
  const plan = planWallets({ account: `0x${'3'.repeat(40)}` }) as ReadPlan;
  expect([...plan.reads.values()].flat().map(({ entryIndex }) => entryIndex)).toEqual([0, 1, 3]);
});

test('the limit on reads is that of one person, however many are planned', () => {
  const planWallets = makePlanner([aNative()], chains, 2);
  for (const digit of '123')
    expect(planWallets({ account: `0x${digit.repeat(40)}` })).not.toHaveProperty('fault');
  const accounts = [...'456'].map((digit) => `0x${digit.repeat(40)}`);
  expect(planWallets({ account: accounts[0] ?? '', accounts })).toEqual({
    fault: 'rule 0: more than 2 reads',
  });
});
