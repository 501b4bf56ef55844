import fc from 'fast-check';
import type { RuleDetail } from '#shared/contracts/checks/result.ts';
import { countReads, type WalletGroup } from '#shared/contracts/rules/count-reads.ts';
import {
  type Condition,
  type ContractCondition,
  isComposedRule,
  isTokenRule,
  type SumTerm,
} from '#shared/contracts/rules/rule.ts';
import { explainRules } from './explain-rules.ts';
import { judgeContextOf, judgeRules, type Verdict } from './judge-rules.ts';
import { compose } from './outcome.ts';
import { makePlanner } from './plan-reads.ts';
import { ABSENT, DECIDING_REVERT, failed, type Read, type Reading } from './read.ts';

// Rules over several wallets and vaults. Whatever could not be read must never be a "no".

const REGISTRY = `0x${'dd'.repeat(20)}`;
const TOKEN = `0x${'bb'.repeat(20)}`;
const wallet = (place: number) => `0x${String(place).padStart(40, '0')}`;
const [ACCOUNT, VAULT] = [wallet(1), wallet(9)];
const TIMEOUT = failed('rpc-timeout');
const value = (amount: bigint): Reading => ({ ok: true, value: amount });
const counted: Condition = { type: 'ERC721', chainId: 1, contractAddress: TOKEN, minToken: '5' };
const owned: Condition = { ...counted, tokenId: '1', minToken: '1' };
const ofId: Condition = { ...counted, type: 'ERC1155', tokenId: '1' };
const member = (wallets?: 'any' | 'all', over: Partial<ContractCondition> = {}): Condition => ({
  type: 'CONTRACT',
  chainId: 1,
  contractAddress: TOKEN,
  function: 'function isMember(address) view returns (bool)',
  args: ['$account'],
  ...(wallets === undefined ? {} : { wallets }),
  ...over,
});

/** A native coin has no decimals here, so that small amounts of it satisfy a rule, too. */
function planned(group: WalletGroup, rules: readonly Condition[]) {
  const plan = makePlanner(rules, { delegateRegistry: () => REGISTRY, nativeDecimals: () => 0 })(group);
  if ('fault' in plan) throw new Error(plan.fault);
  return { plan, reads: [...plan.reads.values()].flat() };
}
function judge(group: WalletGroup, rule: Condition, answer: (read: Read) => Reading): Verdict | undefined {
  const { plan, reads } = planned(group, [rule]);
  return judgeRules(plan.needs, judgeContextOf(new Map(reads.map((read) => [read, answer(read)]))))[0];
}
const codeOf = (verdict: Verdict | undefined) =>
  verdict?.outcome === 'undetermined' ? verdict.code : verdict?.outcome;

describe('a vault', () => {
  /** The account holds 3; the balance of the vault, and the registry's answer about its
   * delegation. */
  const withVault = (rule: Condition, ofVault: Reading, delegation: Reading, own = value(3n)) =>
    codeOf(
      judge({ account: ACCOUNT, vaults: [VAULT] }, rule, ({ contract, account, kind }) => {
        if (contract === REGISTRY) return delegation;
        if (kind === 'owner') return ofVault;
        return account === VAULT ? ofVault : own;
      }),
    );
  const [NO, YES, TWO] = [value(0n), value(1n), value(2n)];
  const ownedByVault = value(BigInt(VAULT));

  it.each<[string, Condition, Reading, Reading, string]>([
    ['that cannot be read leaves the sum open', counted, TIMEOUT, YES, 'rpc-timeout'],
    ['whose delegation cannot be read leaves the sum open', counted, TWO, TIMEOUT, 'rpc-timeout'],
    ['that cannot be read and has not delegated holds nothing', counted, TIMEOUT, NO, 'denied'],
    ['that holds nothing needs no delegation', counted, NO, TIMEOUT, 'denied'],
    ['that delegated counts', counted, TWO, YES, 'granted'],
    ['that has not delegated does not count', counted, TWO, NO, 'denied'],
    ['whose delegation is neither true nor false leaves the sum open', counted, TWO, TWO, 'return-malformed'],
    ['on a chain without the registry does not count', counted, TWO, ABSENT, 'denied'],
    [
      'whose registry has no code, as only eth_getCode says, leaves the sum open',
      ...([counted, TWO, failed('contract-not-found'), 'contract-not-found'] as const),
    ],
    ['whose registry reverts leaves the sum open', counted, TWO, failed('call-reverted'), 'call-reverted'],
    ['that cannot be read, but gave too little, is not enough', ofId, TIMEOUT, YES, 'denied'],
    ['that cannot be read, and gave enough, leaves the sum open', ofId, TIMEOUT, TWO, 'rpc-timeout'],
    ['that holds enough, but gave an unknown part, leaves the sum open', ofId, TWO, TIMEOUT, 'rpc-timeout'],
    ['that owns an id of an unread delegation leaves it open', owned, ownedByVault, TIMEOUT, 'rpc-timeout'],
    ['that owns an id that it did not delegate does not count', owned, ownedByVault, NO, 'denied'],
    ['that owns an id that it delegated counts', owned, ownedByVault, YES, 'granted'],
  ])('%s', (_, rule, ofVault, delegation, expected) => {
    expect(withVault(rule, ofVault, delegation)).toBe(expected);
  });

  it.each<[string, 'any' | 'all', Reading, Reading, Reading, string]>([
    ['that was not read leaves a "no" of `any` open', 'any', NO, TIMEOUT, YES, 'rpc-timeout'],
    ['whose delegation was not read leaves a "no" of `any` open', 'any', NO, YES, TIMEOUT, 'rpc-timeout'],
    ['that is not a member changes nothing of `any`, delegated or not', 'any', NO, NO, TIMEOUT, 'denied'],
    ['that has not delegated changes nothing of `any`', 'any', NO, YES, NO, 'denied'],
    ['that was not read changes no "yes" of `any`', 'any', YES, TIMEOUT, TIMEOUT, 'granted'],
    ['that was not read leaves a "yes" of `all` open', 'all', YES, TIMEOUT, YES, 'rpc-timeout'],
    ['that is not a member makes `all` deny', 'all', YES, NO, YES, 'denied'],
    ['that has not delegated changes nothing of `all`', 'all', YES, NO, NO, 'granted'],
    [
      'that is not a member leaves a "yes" of `all` open if its delegation is unread',
      'all',
      YES,
      NO,
      TIMEOUT,
      'rpc-timeout',
    ],
    ['that was not read changes no "no" of `all`', 'all', NO, TIMEOUT, TIMEOUT, 'denied'],
    ['that answers a boolean of 2 gives `all` no answer', 'all', YES, TWO, YES, 'return-malformed'],
  ])('%s', (_, wallets, own, ofVault, delegation, expected) => {
    expect(withVault(member(wallets), ofVault, delegation, own)).toBe(expected);
  });
});

describe('a value that stands for a time', () => {
  const ends = (over: Partial<ContractCondition>): Condition =>
    member(undefined, {
      function: 'function lockOf(address) view returns ((uint256 amount, uint8 kind, uint64 end) lock)',
      returns: 'lock.end',
      ...over,
    });
  const TIME = value(1_700_000_000n);
  const judgeAt = (rule: Condition, answer: Reading, time: Reading) => {
    const { plan, reads } = planned({ account: ACCOUNT }, [rule]);
    const readings = new Map(reads.map((read) => [read, read.kind === 'time' ? time : answer]));
    const context = judgeContextOf(readings);
    const verdicts = judgeRules(plan.needs, context);
    return {
      verdict: codeOf(verdicts[0]),
      required: explainRules(plan.needs, verdicts, context.readingOf)[0]?.required,
    };
  };

  it.each<[string, Partial<ContractCondition>, bigint, string, string]>([
    ['the block', { operator: 'gt', value: '$timestamp' }, 1_700_000_001n, 'granted', '1700000000'],
    [
      'the block, to the second',
      { operator: 'gt', value: '$timestamp' },
      1_700_000_000n,
      'denied',
      '1700000000',
    ],
    ['a day before', { operator: 'lte', value: '$timestamp-86400' }, 1_699_913_600n, 'granted', '1699913600'],
    ['a minute later', { operator: 'eq', value: '$timestamp+60' }, 1_700_000_060n, 'granted', '1700000060'],
    [
      'a time that its type cannot hold',
      { returns: 'lock.kind', operator: 'lt', value: '$timestamp' },
      255n,
      'granted',
      '1700000000',
    ],
    ['before 1970', { operator: 'gt', value: '$timestamp-9999999999' }, 0n, 'granted', '-8299999999'],
  ])('is that of %s', (_, over, output, verdict, seconds) => {
    expect(judgeAt(ends(over), value(output), TIME)).toEqual({
      verdict,
      required: { operator: over.operator, value: seconds },
    });
  });

  it('leaves the rule open while output or time are not read', () => {
    const rule = ends({ operator: 'gt', value: '$timestamp' });
    const required = { operator: 'gt', value: '$timestamp' };
    expect(judgeAt(rule, TIMEOUT, failed('rpc-disagreement'))).toEqual({ verdict: 'rpc-timeout', required });
    expect(judgeAt(rule, value(1n), failed('rpc-disagreement'))).toEqual({
      verdict: 'rpc-disagreement',
      required,
    });
    expect(judgeAt(rule, value(2n ** 64n), TIME)).toEqual({
      verdict: 'return-malformed',
      required: { operator: 'gt', value: '1700000000' },
    });
  });
});

it('a revert with data denies one wallet alone, if the rule says so', () => {
  const outcome = (wallets: 'any' | 'all', onRevert: 'deny' | 'undetermined', other: Reading) =>
    codeOf(
      judge({ account: ACCOUNT, accounts: [ACCOUNT, VAULT] }, member(wallets, { onRevert }), ({ account }) =>
        account === VAULT ? other : DECIDING_REVERT,
      ),
    );
  expect(outcome('any', 'deny', value(1n))).toBe('granted');
  expect(outcome('all', 'deny', value(1n))).toBe('denied');
  expect(outcome('any', 'deny', failed('call-reverted'))).toBe('call-reverted');
  expect(outcome('any', 'undetermined', value(0n))).toBe('call-reverted');
});

it.each([
  ['any', 'gte', 0n, [5n, 3n], 'granted', '3'],
  ['all', 'lt', 1n, [5n, 3n], 'denied', '3'],
] as const)(
  'explains `%s` by the output of a wallet that counts, never by a vault that has not delegated',
  (wallets, operator, own, [undelegated, delegated], outcome, observed) => {
    const OTHER = wallet(8);
    const rule = member(wallets, {
      function: 'function tierOf(address) view returns (uint8)',
      operator,
      value: '2',
    });
    const { plan, reads } = planned({ account: ACCOUNT, vaults: [VAULT, OTHER] }, [rule]);
    const answer = ({ contract, account, call }: Read): Reading => {
      if (contract === REGISTRY) return value(call?.calldata.includes(OTHER.slice(2)) ? 1n : 0n);
      if (account === ACCOUNT) return value(own);
      return value(account === VAULT ? undelegated : delegated);
    };
    const readings = new Map(reads.map((read) => [read, answer(read)]));
    const context = judgeContextOf(readings);
    const verdicts = judgeRules(plan.needs, context);
    expect(explainRules(plan.needs, verdicts, context.readingOf)).toMatchObject([{ outcome, observed }]);
  },
);

const aSimpleRule = fc
  .record({
    type: fc.constantFrom('ERC20', 'ERC721', 'ERC721 ids', 'ERC1155', 'NATIVE', 'CONTRACT'),
    chainId: fc.integer({ min: 1, max: 2 }),
    contractAddress: fc.constantFrom(TOKEN, `0x${'BB'.repeat(20)}`, wallet(77)),
    tokenId: fc.constantFrom('1', '1-3', '2,4'),
    bounds: fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 })),
    isOfWallet: fc.boolean(),
    wallets: fc.constantFrom('any' as const, 'all' as const),
    onRevert: fc.constantFrom('deny' as const, 'undetermined' as const),
  })
  .map(
    ({
      type,
      chainId,
      contractAddress,
      tokenId,
      bounds: [min, span],
      isOfWallet,
      wallets,
      onRevert,
    }): Condition => {
      const amount = { chainId, minToken: String(min), maxToken: String(min + span) };
      if (type === 'NATIVE') return { type, ...amount };
      if (type === 'ERC20') return { type, contractAddress, ...amount };
      if (type === 'ERC721') return { type, contractAddress, ...amount };
      if (type === 'ERC721 ids') return { type: 'ERC721', contractAddress, tokenId, ...amount };
      if (type === 'ERC1155') return { type, contractAddress, tokenId, ...amount };
      const args = [isOfWallet ? '$account' : ACCOUNT];
      return member(wallets, { chainId, contractAddress, args, onRevert });
    },
  );
/** A sum of the amounts that simple rules are about, or of an output; some with weights. */
const aSum = fc
  .record({
    rules: fc.array(fc.tuple(aSimpleRule, fc.constantFrom('none', 'text', 'times', 'per')), {
      minLength: 1,
      maxLength: 4,
    }),
    min: fc.integer({ min: 0, max: 5 }),
    span: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ rules, min, span }): Condition => {
    const bounds = { minToken: String(min), maxToken: String(min + span) };
    return { type: 'SUM', ...bounds, rules: rules.map(([rule, weight]) => termOf(rule, weight)) };
  });
function termOf(rule: Condition, weight: string): SumTerm {
  const call = { contractAddress: TOKEN, function: 'function rate() view returns (uint8)' };
  const weights = {
    ...(weight === 'text' ? { times: '1.5' } : {}),
    ...(weight === 'times' ? { times: call } : {}),
    ...(weight === 'per' ? { per: call } : {}),
  };
  if (rule.type === 'CONTRACT') {
    const { chainId, contractAddress, args = [] } = rule;
    const output = { function: 'function stakedOf(address) view returns (uint8)', decimals: 0 };
    return { type: 'CONTRACT', chainId, contractAddress, args, ...output, ...weights };
  }
  if (!isTokenRule(rule)) throw new RangeError('not an amount');
  const { minToken: _min, maxToken: _max, ...amount } = rule;
  return { ...amount, ...weights };
}
const composedOf = (inside: fc.Arbitrary<Condition>): fc.Arbitrary<Condition> =>
  fc
    .record({
      type: fc.constantFrom('ALL' as const, 'ANY' as const, 'NONE' as const, 'AT_LEAST' as const),
      rules: fc.array(inside, { minLength: 1, maxLength: 3 }),
    })
    .map(({ type, rules }) => ({ type, rules, ...(type === 'AT_LEAST' ? { atLeast: rules.length } : {}) }));
const aRule = fc.oneof(aSimpleRule, aSum, composedOf(fc.oneof(aSimpleRule, aSum, composedOf(aSimpleRule))));
const aGroup = fc
  .record({
    accounts: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 }),
    vaults: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }),
  })
  .map(
    ({ accounts, vaults }): WalletGroup => ({
      account: wallet(accounts[0] ?? 1),
      accounts: accounts.map(wallet),
      vaults: vaults.map(wallet),
    }),
  );

it('plans as many reads as the gateway counted, of any wallets and rules', () => {
  fc.assert(
    fc.property(aGroup, fc.array(aRule, { minLength: 1, maxLength: 6 }), (group, rules) => {
      const { reads } = planned(group, rules);
      expect(new Set(reads.map(({ key }) => key)).size).toBe(reads.length);
      expect(reads.filter(({ kind }) => kind !== 'decimals')).toHaveLength(countReads(group, rules));
      const one = { account: group.account };
      const alone = planned(one, rules).reads.filter(({ kind }) => kind !== 'decimals');
      expect(alone).toHaveLength(countReads(one, rules));
    }),
  );
});

/** A rate is never zero: nothing can be divided by it. */
function readAs({ kind, call }: Read, number: number, amount: bigint): bigint {
  if (kind === 'owner') return BigInt(1 + (number % 9));
  if (kind !== 'call') return amount;
  const hasInputs = (call?.calldata.length ?? 0) > SELECTOR_DIGITS;
  return hasInputs ? amount % 2n : 1n + (amount % 2n);
}
const SELECTOR_DIGITS = 8;

it('gives the verdict that it would give if all was read, or none, and explains the same one', () => {
  const FAILURES = [TIMEOUT, failed('rpc-disagreement'), failed('gas-exhausted')];
  const seeds = fc.array(fc.integer({ min: 0, max: 11 }), { minLength: 20, maxLength: 20 });
  fc.assert(
    fc.property(aGroup, aRule, seeds, (group, rule, seed) => {
      const { plan, reads } = planned(group, [rule]);
      const truth = new Map<Read, Reading>();
      const seen = new Map<Read, Reading>();
      for (const [index, read] of reads.entries()) {
        const number = seed[index % seed.length] ?? 0;
        const amount = read.kind === 'decimals' ? 0n : BigInt(number % 3);
        const reading = value(readAs(read, number, amount));
        truth.set(read, reading);
        seen.set(read, number < 3 ? (FAILURES[number] ?? TIMEOUT) : reading);
      }
      const judgeAndExplain = (readings: Map<Read, Reading>) => {
        const context = judgeContextOf(readings);
        const verdicts = judgeRules(plan.needs, context);
        const [detail] = explainRules(plan.needs, verdicts, context.readingOf);
        expect(detail?.outcome).toBe(verdicts[0]?.outcome);
        expectComposed(rule, detail);
        return detail?.outcome;
      };
      const ofTruth = judgeAndExplain(truth);
      expect(['granted', 'denied']).toContain(ofTruth);
      expect([ofTruth, 'undetermined']).toContain(judgeAndExplain(seen));
    }),
    { numRuns: 500 },
  );
});

/** Expects that the explained outcomes inside of a rule make its own. */
function expectComposed(rule: Condition, detail: NonNullable<RuleDetail['rules']>[number] = {}): void {
  if (!isComposedRule(rule) || !('outcome' in detail)) return;
  const inside = detail.rules ?? [];
  const outcomes = inside.map((each) => ('outcome' in each ? each.outcome : 'undetermined'));
  expect(outcomes).toHaveLength(rule.rules.length);
  expect(detail.outcome).toBe(compose(rule, outcomes));
  for (const [index, each] of rule.rules.entries()) expectComposed(each, inside[index]);
}
