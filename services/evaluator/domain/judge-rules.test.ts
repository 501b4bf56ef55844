import fc from 'fast-check';
import type { UndeterminedCode } from '#shared/contracts/checks/result.ts';
import type { TokenRule } from '#shared/contracts/rules/rule.ts';
import { judgeContextOf, judgeRules, type Verdict } from './judge-rules.ts';
import { makePlanner } from './plan-reads.ts';
import { DECIDING_REVERT, failed, type Read, type Reading } from './read.ts';

const ACCOUNT = `0x${'aa'.repeat(20)}`;
const OWNER: Reading = { ok: true, value: BigInt(ACCOUNT) };
const OTHER: Reading = { ok: true, value: 1n };
const chains = { delegateRegistry: () => `0x${'dd'.repeat(20)}`, nativeDecimals: () => 18 };
const TOKEN = `0x${'bb'.repeat(20)}`;
const aRule = (over: Partial<TokenRule>): TokenRule => ({
  type: 'ERC20',
  chainId: 1,
  contractAddress: TOKEN,
  roleId: 'r',
  minToken: '1',
  ...over,
});

/** Judges one rule; `answer` gives the reading of each of its reads. */
function judge(rule: TokenRule, answer: (read: Read) => Reading | undefined): Verdict | undefined {
  const plan = makePlanner([rule], chains)({ account: ACCOUNT });
  if ('fault' in plan) throw new Error(plan.fault);
  const readings = new Map<Read, Reading>();
  for (const read of [...plan.reads.values()].flat()) {
    const reading = answer(read);
    if (reading !== undefined) readings.set(read, reading);
  }
  return judgeRules(plan.needs, judgeContextOf(readings))[0];
}

const value = (amount: bigint): Reading => ({ ok: true, value: amount });
const granted: Verdict = { outcome: 'granted' };
const denied: Verdict = { outcome: 'denied' };
const undetermined = (code: UndeterminedCode): Verdict => ({ outcome: 'undetermined', code });

describe('amounts', () => {
  const erc20 = (over: Partial<TokenRule>, balance: Reading, decimals: Reading) =>
    judge(aRule(over), ({ kind }) => (kind === 'decimals' ? decimals : balance));

  test.each<[string, Partial<TokenRule>, Reading, Reading, Verdict]>([
    ['exactly the minimum is enough', { minToken: '1500.5' }, value(1_500_500_000n), value(6n), granted],
    [
      'one unit below the minimum is not',
      { minToken: '1500.500001' },
      value(1_500_500_000n),
      value(6n),
      denied,
    ],
    ['exactly the maximum is allowed', { maxToken: '2' }, value(2_000_000n), value(6n), granted],
    ['one unit above the maximum is not', { maxToken: '2' }, value(2_000_001n), value(6n), denied],
    ['a minimum finer than the token is rounded up', { minToken: '0.1' }, value(0n), value(0n), denied],
    ['a maximum finer than the token is rounded down', { maxToken: '1.9' }, value(2n), value(0n), denied],
    ['decimals of 255 are legal and exact', { minToken: '1' }, value(2n ** 256n - 1n), value(255n), denied],
    [
      'the largest balance is exact',
      { minToken: String(2n ** 256n - 1n) },
      value(2n ** 256n - 1n),
      value(0n),
      granted,
    ],
    ['decimals of 256 are none', {}, value(1n), value(256n), undetermined('decimals-unavailable')],
    [
      'decimals that revert are none',
      {},
      value(1n),
      failed('call-reverted'),
      undetermined('decimals-unavailable'),
    ],
    [
      'decimals of 64 bytes are none',
      {},
      value(1n),
      failed('return-malformed'),
      undetermined('decimals-unavailable'),
    ],
    [
      'decimals that burn the gas are gas-exhausted',
      {},
      value(1n),
      failed('gas-exhausted'),
      undetermined('gas-exhausted'),
    ],
    ['decimals that timed out may come', {}, value(1n), failed('rpc-timeout'), undetermined('rpc-timeout')],
    [
      'no code is not code',
      {},
      failed('contract-not-found'),
      failed('contract-not-found'),
      undetermined('contract-not-found'),
    ],
    [
      'an unread balance is not zero',
      { maxToken: '5' },
      failed('rpc-unavailable'),
      value(6n),
      undetermined('rpc-unavailable'),
    ],
  ])('%s', (_, over, balance, decimals, expected) => {
    expect(erc20(over, balance, decimals)).toEqual(expected);
  });

  test('the native coin is scaled by the decimals of its chain', () => {
    const rule: TokenRule = { type: 'NATIVE', chainId: 1, roleId: 'r', minToken: '0.5' };
    expect(judge(rule, () => value(5n * 10n ** 17n))).toEqual(granted);
    expect(judge(rule, () => value(5n * 10n ** 17n - 1n))).toEqual(denied);
  });

  test('ERC721 without ids counts tokens', () => {
    const rule = aRule({ type: 'ERC721', minToken: '2', maxToken: '3' });
    const outcomes = [1n, 2n, 3n, 4n].map((count) => judge(rule, () => value(count))?.outcome);
    expect(outcomes).toEqual(['denied', 'granted', 'granted', 'denied']);
  });
});

describe('owners of listed ids', () => {
  const owners = (over: Partial<TokenRule>, ...readings: Reading[]) =>
    judge(
      aRule({ type: 'ERC721', tokenId: `1-${readings.length}`, ...over }),
      ({ id }) => readings[Number(id) - 1],
    );
  const reverted = DECIDING_REVERT;
  const timeout = failed('rpc-timeout');

  test.each<[string, Partial<TokenRule>, Reading[], Verdict]>([
    ['an owned id counts', {}, [OWNER], granted],
    ['another owner does not', {}, [OTHER], denied],
    [
      'a word that is not an address is not an owner',
      {},
      [{ ok: true, value: 1n << 160n }],
      undetermined('return-malformed'),
    ],
    [
      'nor does it show that the contract is an ERC721',
      { minToken: '1' },
      [{ ok: true, value: 1n << 160n }, failed('call-reverted')],
      undetermined('return-malformed'),
    ],
    ['an id that nobody owns does not', {}, [value(0n)], denied],
    ['a revert beside a readable id is "not owned"', { minToken: '2' }, [OWNER, reverted], denied],
    [
      'a call of which it is not known that the contract itself reverts it for everybody is not',
      { minToken: '2' },
      [OWNER, failed('call-reverted')],
      undetermined('call-reverted'),
    ],
    ['reverts alone prove nothing', {}, [reverted, reverted], undetermined('call-reverted')],
    ['an unread id leaves a sure grant', {}, [OWNER, timeout], granted],
    [
      'an unread id leaves an open count open',
      { minToken: '2' },
      [OWNER, timeout],
      undetermined('rpc-timeout'),
    ],
    ['an unread id cannot change a certain denial', { minToken: '3' }, [OWNER, timeout, OTHER], denied],
    ['an unread id may break a maximum', { maxToken: '1' }, [OWNER, timeout], undetermined('rpc-timeout')],
    ['more than the maximum is sure', { maxToken: '1' }, [OWNER, OWNER, timeout], denied],
    [
      'an error that a retry may repair is reported first, because it may decide the rule',
      { minToken: '1' },
      [failed('gas-exhausted'), timeout],
      undetermined('rpc-timeout'),
    ],
    ['no code at all', {}, [failed('contract-not-found')], undetermined('contract-not-found')],
  ])('%s', (_, over, readings, expected) => {
    expect(owners(over, ...readings)).toEqual(expected);
  });
});

describe('sums over ids', () => {
  const sum = (over: Partial<TokenRule>, ...readings: Reading[]) =>
    judge(
      aRule({ type: 'ERC1155', tokenId: `1-${readings.length}`, ...over }),
      ({ id }) => readings[Number(id) - 1],
    );

  test.each<[string, Partial<TokenRule>, Reading[], Verdict]>([
    ['the balances are added', { minToken: '15' }, [value(10n), value(5n)], granted],
    [
      'the sum may exceed 2^256',
      { maxToken: String(2n ** 256n - 1n) },
      [value(2n ** 256n - 1n), value(1n)],
      denied,
    ],
    ['an unread id leaves a sure grant', { minToken: '10' }, [value(10n), failed('rpc-timeout')], granted],
    [
      'an unread id leaves the rest open',
      { minToken: '11' },
      [value(10n), failed('rpc-timeout')],
      undetermined('rpc-timeout'),
    ],
    [
      'an unread id may break a maximum',
      { maxToken: '20' },
      [value(10n), failed('rpc-timeout')],
      undetermined('rpc-timeout'),
    ],
    ['more than the maximum is sure', { maxToken: '9' }, [value(10n), failed('rpc-timeout')], denied],
  ])('%s', (_, over, readings, expected) => {
    expect(sum(over, ...readings)).toEqual(expected);
  });
});

test('a verdict under failures is the verdict without them, or none', () => {
  const anId = fc.record({ balance: fc.bigInt({ min: 0n, max: 4n }), isRead: fc.boolean() });
  const bounds = fc.tuple(fc.integer({ min: 0, max: 12 }), fc.option(fc.integer({ min: 0, max: 12 })));
  fc.assert(
    fc.property(fc.array(anId, { minLength: 1, maxLength: 6 }), bounds, (ids, [min, span]) => {
      const limits = { minToken: String(min), ...(span === null ? {} : { maxToken: String(min + span) }) };
      const rule = aRule({ type: 'ERC1155', tokenId: `0-${ids.length - 1}`, ...limits });
      const truth = judge(rule, ({ id }) => value(ids[Number(id)]?.balance ?? 0n));
      const seen = judge(rule, ({ id }) =>
        ids[Number(id)]?.isRead ? value(ids[Number(id)]?.balance ?? 0n) : failed('rpc-timeout'),
      );
      expect([truth?.outcome, 'undetermined']).toContain(seen?.outcome);
    }),
  );
});

test('a read that is missing altogether is a bug, never a "no"', () => {
  expect(judge(aRule({}), () => undefined)).toEqual(undetermined('internal'));
});
