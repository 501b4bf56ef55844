import type { Rule } from '#shared/contracts/rule.ts';
import { demoTokens } from '../../deploy/local/demo-tokens.ts';
import { callJsonRpc } from '../../deploy/local/json-rpc.ts';
import { connectTestChains } from '../support/connect-test-chains.ts';
import {
  ARBSYS_CODE,
  deployHostileContracts,
  type HostileContract,
} from '../support/hostile-contracts/hostile-contracts.ts';
import { MULTICALL3_CODE } from '../support/hostile-contracts/multicall3-code.ts';
import { infrastructure } from '../support/infrastructure.ts';
import { type RpcFaultProxy, startRpcFaultProxy } from '../support/rpc-fault-proxy.ts';

// Scenario: contracts that loop, bomb, revert and lie stand in one check between good ones, on a real chain.
// Each must be found out for what it is, and the good ones must be decided as if it were not there.

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
let hostile: Record<HostileContract, string>;
let rpcUrl: string;
let withoutOverride: RpcFaultProxy;

beforeAll(async () => {
  rpcUrl = infrastructure().rpcUrl;
  hostile = await deployHostileContracts(rpcUrl);
  withoutOverride = await startRpcFaultProxy({ target: rpcUrl });
  await withoutOverride.setFault('no-override');
});
afterAll(() => withoutOverride[Symbol.asyncDispose]());
afterEach(() => callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, '0x']));

const rule = (type: Rule['type'], contractAddress: string, over: Partial<Rule> = {}): Rule => ({
  type,
  chainId: 31_337,
  contractAddress,
  roleId: contractAddress,
  minToken: '1',
  ...over,
});

/** What each hostile contract must end as, asked as an ERC721 by balance. */
const BY_BALANCE = {
  infiniteLoop: 'gas-exhausted',
  returnBomb: 'return-malformed',
  revertBomb: 'call-reverted',
  revertEmpty: 'call-reverted',
  revertWithData: 'call-reverted',
  returnsNothing: 'return-malformed',
  returns64Bytes: 'return-malformed',
  returns31Bytes: 'return-malformed',
  proxyToNothing: 'return-malformed',
} as const;
const BY_DECIMALS = ['decimalsRevert', 'decimals256', 'decimalsOf64Bytes', 'decimalsBurnGas'] as const;

const goodRules = (): Rule[] => [
  rule('ERC20', demoTokens.erc20, { minToken: '1500.5' }),
  rule('ERC721', demoTokens.erc721, { tokenId: '2' }),
  rule('ERC721', demoTokens.erc721, { tokenId: '9' }),
  rule('ERC1155', demoTokens.erc1155, { tokenId: '7-8', minToken: '15' }),
  { type: 'NATIVE', chainId: 31_337, roleId: 'native', minToken: '1' },
];

describe.each(['reader', 'multicall3', 'plain'] as const)('read by %s', (method) => {
  const isProved = method !== 'plain';

  async function connect() {
    if (method === 'multicall3') await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
    return connectTestChains([{ urls: [method === 'reader' ? rpcUrl : withoutOverride.url] }], {
      attemptTimeoutMs: 20_000,
      evaluationMsMax: 60_000,
    });
  }

  test('good contracts are decided exactly, and the block says whether it was proved', async () => {
    await using chains = await connect();
    const { roles, errors, blocks } = await chains.judge({ account: demoTokens.holder, rules: goodRules() });
    expect({ granted: roles.map(({ granted }) => granted), errors }).toEqual({
      granted: [true, true, false, true, true],
      errors: [],
    });
    expect(blocks['31337']?.proved).toBe(isProved);
  });

  test('hostile contracts are told apart, and the good ones between them are decided all the same', async () => {
    await using chains = await connect();
    const names = Object.keys(BY_BALANCE) as (keyof typeof BY_BALANCE)[];
    const bad = names.map((name) => rule('ERC721', hostile[name], { roleId: name }));
    const worse = BY_DECIMALS.map((name) => rule('ERC20', hostile[name], { roleId: name }));
    const result = await chains.judge({
      account: demoTokens.holder,
      rules: [...bad, ...goodRules(), ...worse, ...goodRules()],
    });
    const codes = Object.fromEntries(result.errors.map(({ roleId, code }) => [roleId, code]));
    expect(codes).toEqual({
      ...BY_BALANCE,
      // Without the reader nothing cuts the bomb short: it is an answer without end.
      revertBomb: method === 'reader' ? 'call-reverted' : 'return-malformed',
      ...Object.fromEntries(BY_DECIMALS.map((name) => [name, 'decimals-unavailable'])),
    });
    const granted = [true, true, false, true, true];
    expect(result.roles.map((role) => role.granted)).toEqual([...granted, ...granted]);
  });

  test.each(['invalidOpcode', 'selfDestructs', 'writesState', 'copiesBeyond', 'storesBeyond'] as const)(
    'a call that halts the machine is no answer, and costs the others nothing: %s',
    async (name) => {
      await using chains = await connect();
      const result = await chains.judge({
        account: demoTokens.holder,
        rules: [rule('ERC721', hostile[name]), ...goodRules()],
      });
      const codes = result.errors.map(({ code }) => code);
      expect(result.roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
      expect(['gas-exhausted', 'call-reverted', 'return-malformed']).toEqual(expect.arrayContaining(codes));
    },
  );

  test('decimals of 255 are legal and exact', async () => {
    await using chains = await connect();
    const digits = `0.${'0'.repeat(35)}`;
    const rules = [rule('ERC20', hostile.decimals255, { minToken: `${digits}1` })];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect({ roles, errors }).toEqual({ roles: [{ id: hostile.decimals255, granted: false }], errors: [] });
  });

  test('an address without code is no contract', async () => {
    await using chains = await connect();
    const nobody = `0x${'12'.repeat(20)}`;
    const rules = [
      rule('ERC20', nobody),
      rule('ERC721', nobody, { tokenId: '1' }),
      rule('ERC1155', nobody, { tokenId: '1' }),
    ];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles).toEqual([]);
    expect(errors.map(({ code }) => code)).toEqual(Array(3).fill('contract-not-found'));
  });

  test('an owner that reverts is "not owned" only where the contract answers as an ERC721', async () => {
    await using chains = await connect();
    const rules = [
      rule('ERC721', demoTokens.erc721, { tokenId: '900' }),
      rule('ERC721', demoTokens.erc20, { tokenId: '1' }),
      rule('ERC721', hostile.revertEmpty, { tokenId: '1' }),
    ];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles.map(({ granted }) => granted)).toEqual([false, false]);
    expect(errors).toMatchObject([{ ruleIndex: 2, code: 'call-reverted' }]);
  });

  test('an owner that could not be asked for want of gas is never "not owned"', async () => {
    await using chains = await connect();
    const rules = [rule('ERC721', hostile.ownerBurnsGas, { tokenId: '1' })];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles).toEqual([]);
    expect(['gas-exhausted', 'call-reverted']).toContain(errors[0]?.code);
  });
});

test('where the EVM counts the blocks of another chain, the chain is asked for its own', async () => {
  const arbSys = `0x${'64'.padStart(40, '0')}`;
  await using proxy = await startRpcFaultProxy({ target: rpcUrl });
  await proxy.setFault('parent-blocks');
  await using unproved = connectTestChains([{ urls: [proxy.url] }]);
  const without = await unproved.judge({ account: demoTokens.holder, rules: goodRules() });
  expect(new Set(without.errors.map(({ code }) => code))).toEqual(new Set(['block-mismatch']));
  await callJsonRpc(rpcUrl, 'anvil_setCode', [arbSys, `0x${ARBSYS_CODE}`]);
  await using chains = connectTestChains([{ urls: [proxy.url] }]);
  const { roles, blocks } = await chains.judge({ account: demoTokens.holder, rules: goodRules() });
  await callJsonRpc(rpcUrl, 'anvil_setCode', [arbSys, '0x']);
  expect(roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
  expect(blocks['31337']?.proved).toBe(true);
});

test('code that only stands where Multicall3 should be is not trusted', async () => {
  await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, `${MULTICALL3_CODE}00`]);
  await using chains = connectTestChains([{ urls: [withoutOverride.url] }]);
  const { roles, blocks } = await chains.judge({ account: demoTokens.holder, rules: goodRules() });
  expect(roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
  expect(blocks['31337']?.proved).toBe(false);
});

test('a burner that is known is read apart and costs the good ones nothing', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }], {
    attemptTimeoutMs: 20_000,
    evaluationMsMax: 60_000,
  });
  const rules = [rule('ERC721', hostile.infiniteLoop), ...goodRules()];
  await chains.judge({ account: demoTokens.holder, rules });
  chains.batches.length = 0;
  const { errors } = await chains.judge({ account: demoTokens.stranger, rules });
  expect(errors.map(({ code }) => code)).toEqual(['gas-exhausted']);
  // Of the good ones four reads are new: the owners and the decimals are the same for everybody.
  expect(chains.batches.toSorted((a, b) => a - b)).toEqual([1, 4]);
});
