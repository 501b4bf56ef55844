import { PART_ENTRIES_MAX } from '#shared/contracts/batches/batch.ts';
import { type CheckResult, isRuleFault } from '#shared/contracts/checks/result.ts';
import type { Rule, TokenRule } from '#shared/contracts/rules/rule.ts';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { deployHostileContracts } from '../../support/contracts/hostile-contracts.ts';
import { type FaultKind, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { type BatchLine, connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { makeRandom } from '../../support/random.ts';

// Scenario: a real chain judges the same wallets as entries of a batch and as single checks, among
// hostile contracts and through endpoints that fail at random. Decided results of both agree with
// the chain, and a failure is never a "no".

const ENTRIES = 5_000;
const SINGLES = 500;
const AT_ONCE = 64;
const FAULTS: readonly FaultKind[] = [
  'reset',
  'http-503',
  'malformed',
  'short-batch',
  'rpc-error',
  'unknown-block',
];

const { fraction, below } = makeRandom(20_261_122);
const aWallet = (): string =>
  fraction() < 0.3
    ? demoTokens.holder
    : `0x${Array.from({ length: 40 }, () => below(16).toString(16)).join('')}`;
const entriesOf = (count: number) => Array.from({ length: count }, () => ({ account: aWallet() }));

const rule = (type: TokenRule['type'], contractAddress: string, over: Partial<TokenRule> = {}): Rule => ({
  type,
  chainId: 31_337,
  contractAddress,
  roleId: contractAddress,
  minToken: '1',
  ...over,
});
/** Rules that only the demo's holder satisfies, and rules that nobody satisfies. */
const goodRules = (): Rule[] => [
  rule('ERC20', demoTokens.erc20, { roleId: 'amount', minToken: '1500.5' }),
  rule('ERC721', demoTokens.erc721, { roleId: 'owned', tokenId: '2' }),
  rule('ERC1155', demoTokens.erc1155, { roleId: 'sum', tokenId: '7-8', minToken: '15' }),
  rule('ERC20', demoTokens.erc20, { roleId: 'too much', minToken: '1500.500001' }),
];
/** The parts of a result that a client acts on: the decided roles, and the undetermined rules. */
const told = ({
  status,
  roles,
  errors,
}: Pick<BatchLine, 'status' | 'roles'> & Pick<CheckResult, 'errors'>) => ({
  status,
  roles,
  undetermined: errors.filter(isRuleFault).map(({ ruleIndex }) => ruleIndex),
});

test('each line among hostile contracts equals the verdict of a single check', async () => {
  const { rpcUrl } = infrastructure();
  const hostile = await deployHostileContracts(rpcUrl);
  const rules = [
    ...Object.entries(hostile).map(([roleId, contract]) => rule('ERC721', contract, { roleId })),
    ...goodRules(),
  ];
  await using chains = connectTestChains([{ urls: [rpcUrl] }]);
  const entries = entriesOf(12);
  const lines = await chains.judgePart({ entries, rules, explain: true });
  expect(lines.map(({ account }) => account)).toEqual(entries.map(({ account }) => account));
  for (const line of lines) {
    const alone = await chains.judge({ account: line.account, rules, explain: true });
    expect(told(line)).toEqual(told(alone));
    expect(line.details).toEqual(alone.details);
    // A part may read as many suspect contracts alone as one check may: the others keep their first
    // code.
    for (const [place, { code, retryable }] of line.errors.entries())
      if (code !== alone.errors[place]?.code) expect([code, retryable]).toEqual(['gas-exhausted', true]);
  }
});

test(`${ENTRIES} entries under RPC faults get no wrong verdict, and single checks contradict none`, async () => {
  const { rpcUrl } = infrastructure();
  const flaky = () => (fraction() < 0.1 ? (FAULTS[below(FAULTS.length)] ?? 'none') : 'none');
  await using one = await startRpcFaultProxy({ target: rpcUrl });
  await using two = await startRpcFaultProxy({ target: rpcUrl });
  await one.setFault(flaky);
  await two.setFault(flaky);
  await using chains = connectTestChains([{ urls: [one.url, two.url] }]);
  const rules = goodRules();
  let decidedCount = 0;
  const wrong: unknown[] = [];
  const verify = (account: string, roles: readonly { id: string; granted: boolean }[]) => {
    for (const { id, granted } of roles) {
      decidedCount += 1;
      if (granted !== (account === demoTokens.holder && id !== 'too much'))
        wrong.push({ account, id, granted });
    }
  };
  const entries = entriesOf(ENTRIES);
  for (let first = 0; first < ENTRIES; first += PART_ENTRIES_MAX) {
    const ofPart = entries.slice(first, first + PART_ENTRIES_MAX);
    const lines = await chains.judgePart({ entries: ofPart, rules, firstIndex: first });
    expect(lines.map(({ index }) => index)).toEqual(ofPart.map((_, place) => first + place));
    for (const { account, roles, errors } of lines) {
      verify(account, roles);
      expect(roles.length + errors.length).toBe(rules.length);
    }
  }
  let next = 0;
  const worker = async () => {
    for (let place = next++; place < SINGLES; place = next++) {
      const account = entries[place]?.account ?? '';
      verify(account, (await chains.judge({ account, rules })).roles);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  expect(wrong).toEqual([]);
  // The faults must have happened, and most rules must still have been decided.
  expect(chains.calls.filter((call) => !call.endsWith('/ok')).length).toBeGreaterThan(0);
  expect(decidedCount).toBeGreaterThan(ENTRIES * rules.length * 0.5);
});
