import { isRuleFault } from '#shared/contracts/checks/result.ts';
import type { TokenRule } from '#shared/contracts/rules/rule.ts';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import {
  ARBSYS_CODE,
  callersOnlyCode,
  deployCode,
  deployHostileContracts,
  firstIdOnlyCode,
  GAS_PER_ID,
  gasByIdCode,
  type HostileContract,
  proxyTo,
  swallowingCode,
} from '../../support/contracts/hostile-contracts.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { type RpcFaultProxy, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';

// Scenario: one check on a real chain holds contracts that loop, bomb, revert and lie, between good
// ones. Each hostile contract must get its own code, and the good ones the same verdicts as without
// it.

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
let hostile: Record<HostileContract, string>;
let rpcUrl: string;
let withoutOverride: RpcFaultProxy;
/** `ownerOf(id)` names the demo's holder; see `GAS_PER_ID`. */
let gasById: string;

beforeAll(async () => {
  rpcUrl = infrastructure().rpcUrl;
  hostile = await deployHostileContracts(rpcUrl);
  gasById = await deployCode(rpcUrl, gasByIdCode(demoTokens.holder));
  withoutOverride = await startRpcFaultProxy({ target: rpcUrl });
  await withoutOverride.setFault('no-override');
});
afterAll(() => withoutOverride[Symbol.asyncDispose]());
afterEach(async () => {
  await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, '0x']);
  // Endpoints are probed at a block below the head.
  await callJsonRpc(rpcUrl, 'anvil_mine', ['0x11']);
});

const rule = (
  type: TokenRule['type'],
  contractAddress: string,
  over: Partial<TokenRule> = {},
): TokenRule => ({
  type,
  chainId: 31_337,
  contractAddress,
  roleId: contractAddress,
  minToken: '1',
  ...over,
});

/** The code that each hostile contract must get when it is asked as an ERC721 by balance. */
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
const BY_DECIMALS = {
  decimalsRevert: 'decimals-unavailable',
  decimals256: 'decimals-unavailable',
  decimalsOf64Bytes: 'decimals-unavailable',
  decimalsBurnGas: 'gas-exhausted',
} as const;

const goodRules = (): TokenRule[] => [
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
    return connectTestChains([{ urls: [method === 'reader' ? rpcUrl : withoutOverride.url] }]);
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

  test('each hostile contract gets its own code, and the good ones between them are still decided', async () => {
    await using chains = await connect();
    const names = Object.keys(BY_BALANCE) as (keyof typeof BY_BALANCE)[];
    const bad = names.map((name) => rule('ERC721', hostile[name], { roleId: name }));
    const decimalsNames = Object.keys(BY_DECIMALS) as (keyof typeof BY_DECIMALS)[];
    const worse = decimalsNames.map((name) => rule('ERC20', hostile[name], { roleId: name }));
    const result = await chains.judge({
      account: demoTokens.holder,
      rules: [...bad, ...goodRules(), ...worse, ...goodRules()],
    });
    const codes = Object.fromEntries(
      result.errors.filter(isRuleFault).map(({ roleId, code }) => [roleId, code]),
    );
    expect(codes).toEqual({
      ...BY_BALANCE,
      // Without the reader nothing cuts the bomb short: its answer is endless.
      revertBomb: method === 'reader' ? 'call-reverted' : 'return-malformed',
      ...BY_DECIMALS,
    });
    const granted = [true, true, false, true, true];
    expect(result.roles.map((role) => role.granted)).toEqual([...granted, ...granted]);
  });

  test.each(['invalidOpcode', 'selfDestructs', 'writesState', 'copiesBeyond', 'storesBeyond'] as const)(
    'a call that halts the EVM has no answer and does not affect the others: %s',
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

  test('an address without code is reported as no contract', async () => {
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
      rule('ERC721', hostile.ownerRevertsErc721, { tokenId: '1' }),
      rule('ERC721', hostile.ownerRevertsDraftErc721, { tokenId: '1' }),
      // A balance proves nothing: an ERC20 has one too.
      rule('ERC721', demoTokens.erc20, { tokenId: '1' }),
      rule('ERC721', hostile.revertEmpty, { tokenId: '1' }),
    ];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles.map(({ granted }) => granted)).toEqual([false, false, false]);
    expect(errors).toMatchObject([
      { ruleIndex: 3, code: 'call-reverted' },
      { ruleIndex: 4, code: 'call-reverted' },
    ]);
  });

  test('ids that revert without a reason are "not owned" if another listed id was readable', async () => {
    const token = await deployCode(rpcUrl, firstIdOnlyCode(demoTokens.holder));
    await using chains = await connect();
    const rules = [
      rule('ERC721', token, { tokenId: '1-40', minToken: '1' }),
      rule('ERC721', token, { tokenId: '1-40', minToken: '2' }),
      rule('ERC721', token, { tokenId: '2-40' }),
    ];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles.map(({ granted }) => granted)).toEqual([true, false]);
    expect(errors).toMatchObject([{ ruleIndex: 2, code: 'call-reverted', retryable: false }]);
  });

  test('an ownerOf that uses up all gas, or fails by an assertion, is undetermined, even on an ERC721', async () => {
    await using chains = await connect();
    const proxy = await deployCode(rpcUrl, proxyTo(hostile.ownerThrowsErc721));
    // A plain call does not show how much gas the callee of a proxy used.
    const throwing = [
      hostile.ownerThrowsErc721,
      hostile.ownerAssertsErc721,
      ...(method === 'plain' ? [] : [proxy]),
    ];
    const rules = [
      ...throwing.map((contract) => rule('ERC721', contract, { tokenId: '1' })),
      rule('ERC721', demoTokens.erc721, { tokenId: '900' }),
    ];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles.map(({ granted }) => granted)).toEqual([false]);
    expect(errors.map(({ code, retryable }) => ({ code, retryable }))).toEqual(
      throwing.map(() => ({ code: 'gas-exhausted', retryable: false })),
    );
  });

  test('a precompile is reported as no contract, whatever it answers, and its endpoint is not blamed', async () => {
    await using chains = await connect();
    const numbers = [...Array.from({ length: 17 }, (_, index) => index + 1), 0x100];
    const addresses = numbers.map((number) => `0x${number.toString(16).padStart(40, '0')}`);
    for (const make of [
      (address: string) => rule('ERC721', address),
      (address: string) => rule('ERC721', address, { tokenId: '1-3' }),
      (address: string) => rule('ERC1155', address, { tokenId: '1' }),
      (address: string) => rule('ERC20', address),
    ]) {
      const rules = [...addresses.map(make), ...goodRules()];
      const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
      expect(roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
      expect(errors.map(({ code }) => code)).toEqual(addresses.map(() => 'contract-not-found'));
    }
    const failures = chains.calls.filter((call) => !call.endsWith('/ok'));
    // The probe of an endpoint that refuses overrides.
    expect(failures.filter((call) => !call.endsWith('/override-refused'))).toEqual([]);
  });

  test('an id that costs too much gas does not affect cheaper ids', async () => {
    await using chains = await connect();
    const idOfGas = (gas: number) => String(Math.round(gas / GAS_PER_ID));
    const judge = (gas: number, clientId: string) =>
      chains.judge({
        account: demoTokens.holder,
        clientId,
        rules: [rule('ERC721', gasById, { tokenId: idOfGas(gas) })],
      });
    for (let round = 0; round < 2; round++) {
      const costly = await judge(5_700_000, 'app_1');
      // Only the reader bounds the gas of a read.
      if (method === 'reader')
        expect(costly.errors).toMatchObject([{ code: 'gas-exhausted', retryable: false }]);
      for (const gas of [1_000, 100_000, 1_100_000]) {
        const { roles, errors } = await judge(gas, 'app_2');
        expect({ granted: roles.map(({ granted }) => granted), errors }).toEqual({
          granted: [true],
          errors: [],
        });
      }
      await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    }
  });

  test('a value that came after nearly all gas was used is unknown, whatever it is', async () => {
    const part = await deployCode(rpcUrl, swallowingCode(hostile.infiniteLoop, 5));
    const nothing = await deployCode(rpcUrl, swallowingCode(hostile.infiniteLoop));
    await using chains = await connect();
    const rules = [part, nothing].flatMap((token) => [
      rule('ERC721', token, { minToken: '8' }),
      rule('ERC721', token, { maxToken: '8' }),
    ]);
    // The answer to a plain call does not show how much gas it used.
    if (method === 'plain') return;
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles).toEqual([]);
    expect(errors.map(({ code }) => code)).toEqual(rules.map(() => 'gas-exhausted'));
  });

  test('an ownerOf that reverts for callers with code is never "not owned"', async () => {
    const token = await deployCode(rpcUrl, callersOnlyCode(demoTokens.holder));
    await using chains = await connect();
    const rules = [rule('ERC721', token, { tokenId: '1' })];
    for (let round = 0; round < 2; round++) {
      const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
      expect({ granted: roles.map(({ granted }) => granted), codes: errors.map(({ code }) => code) }).toEqual(
        method === 'plain' ? { granted: [true], codes: [] } : { granted: [], codes: ['call-reverted'] },
      );
      await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
    }
  });

  test('the balances of 60 wallets that cost 300 000 gas each are all decided', async () => {
    await using chains = await connect();
    const first = Math.round(300_000 / GAS_PER_ID);
    const entries = Array.from({ length: 60 }, (_, index) => ({
      account: `0x${(first + index).toString(16).padStart(40, '0')}`,
    }));
    const lines = await chains.judgePart({ entries, rules: [rule('ERC721', gasById)] });
    expect(lines.map(({ roles }) => roles[0]?.granted)).toEqual(entries.map(() => true));
  });

  test('an owner that could not be read for lack of gas is never "not owned"', async () => {
    await using chains = await connect();
    const rules = [rule('ERC721', hostile.ownerBurnsGas, { tokenId: '1' })];
    const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles).toEqual([]);
    expect(['gas-exhausted', 'call-reverted']).toContain(errors[0]?.code);
  });
});

test('the reader asks ArbSys for the block where the EVM counts the blocks of another chain', async () => {
  const arbSys = `0x${'64'.padStart(40, '0')}`;
  await using proxy = await startRpcFaultProxy({ target: rpcUrl });
  await proxy.setFault('parent-blocks');
  await using unproved = connectTestChains([{ urls: [proxy.url] }]);
  const without = await unproved.judge({ account: demoTokens.holder, rules: goodRules() });
  expect(new Set(without.errors.map(({ code }) => code))).toEqual(new Set(['block-mismatch']));
  await callJsonRpc(rpcUrl, 'anvil_setCode', [arbSys, `0x${ARBSYS_CODE}`]);
  // An endpoint is probed some blocks below its head.
  await callJsonRpc(rpcUrl, 'anvil_mine', ['0x20']);
  await using chains = connectTestChains([{ urls: [proxy.url] }]);
  const { roles, blocks } = await chains.judge({ account: demoTokens.holder, rules: goodRules() });
  await callJsonRpc(rpcUrl, 'anvil_setCode', [arbSys, '0x']);
  expect(roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
  expect(blocks['31337']?.proved).toBe(true);
});

test('foreign code at the address of Multicall3 is not trusted', async () => {
  await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, `${MULTICALL3_CODE}00`]);
  await using chains = connectTestChains([{ urls: [withoutOverride.url] }]);
  const { roles, blocks } = await chains.judge({ account: demoTokens.holder, rules: goodRules() });
  expect(roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
  expect(blocks['31337']?.proved).toBe(false);
});

test('a read that is known to burn its gas is isolated in a separate call and does not affect other reads', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }]);
  const rules = [rule('ERC721', hostile.infiniteLoop, { tokenId: '1' }), ...goodRules()];
  await chains.judge({ account: demoTokens.holder, rules });
  await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
  chains.batches.length = 0;
  const minBlock = { '31337': Number(await callJsonRpc(rpcUrl, 'eth_blockNumber', [])) };
  const consistency = { blockTag: 'latest' as const, minBlock };
  const { errors } = await chains.judge({ account: demoTokens.stranger, rules, consistency });
  expect(errors.map(({ code }) => code)).toEqual(['gas-exhausted']);
  // Six reads of the good contracts are new: decimals are cached.
  expect(chains.batches.toSorted((a, b) => a - b)).toEqual([1, 6]);
});

test('at most 8 reads of a check are read again with more gas, and asking again may help the others', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }]);
  const ids = Array.from({ length: 12 }, (_, index) => String(Math.round(1_100_000 / GAS_PER_ID) + index));
  const rules = ids.map((tokenId) => rule('ERC721', gasById, { tokenId }));
  const { roles, errors } = await chains.judge({ account: demoTokens.holder, rules });
  expect(roles.map(({ granted }) => granted)).toEqual(Array(8).fill(true));
  expect(errors).toMatchObject(Array(4).fill({ code: 'gas-exhausted', retryable: true }));
});

test('answered calls prove the block, whatever happened to the others', async () => {
  await using chains = connectTestChains([{ urls: [rpcUrl] }]);
  const rules = [rule('ERC721', hostile.infiniteLoop), ...goodRules()];
  const { blocks } = await chains.judge({ account: demoTokens.holder, rules });
  expect(blocks['31337']?.proved).toBe(true);
});

test('a chain whose BLOCKHASH is not the hash of its headers is read, and nothing is proved', async () => {
  await using proxy = await startRpcFaultProxy({ target: rpcUrl });
  await callJsonRpc(rpcUrl, 'anvil_mine', ['0x10']);
  await proxy.setFault('other-hashes');
  await using chains = connectTestChains([{ urls: [proxy.url] }]);
  const { roles, blocks } = await chains.judge({ account: demoTokens.holder, rules: goodRules() });
  expect(roles.map(({ granted }) => granted)).toEqual([true, true, false, true, true]);
  expect(blocks['31337']?.proved).toBe(false);
});

test('native coins are read by eth_getBalance where the EVM counts them in another unit', async () => {
  await using proxy = await startRpcFaultProxy({ target: rpcUrl });
  await proxy.setFault('other-native-unit');
  await using chains = connectTestChains([{ urls: [proxy.url] }]);
  const rules = ['9000', '90000000000000', '100000000000001'].map(
    (minToken, index): TokenRule => ({ type: 'NATIVE', chainId: 31_337, roleId: `r${index}`, minToken }),
  );
  for (let round = 0; round < 2; round++) {
    const { roles, blocks } = await chains.judge({ account: demoTokens.holder, rules });
    expect(roles.map(({ granted }) => granted)).toEqual([true, true, false]);
    expect(blocks['31337']?.proved).toBe(false);
    await callJsonRpc(rpcUrl, 'anvil_mine', ['0x1']);
  }
});
