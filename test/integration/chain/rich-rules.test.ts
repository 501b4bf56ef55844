import { toBeHex } from 'ethers';
import { isRuleFault } from '#shared/contracts/checks/result.ts';
import type { ContractCondition, Rule } from '#shared/contracts/rules/rule.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { startDeployer } from '../../support/contracts/deploy-contracts.ts';
import {
  deployCode,
  pokingCode,
  swallowingCode,
  WRITABLE_CODE,
} from '../../support/contracts/hostile-contracts.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { codesOf, grantedOf } from '../../support/fakes/chain-checks.ts';
import { type RpcFaultProxy, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';

// Scenario: rules on view functions, several wallets, vaults and past blocks of third-party
// contracts, on a real chain and by each way of reading it. Hostile contracts between them change
// nothing for the others.

const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
const CHAIN = 31_337;
const UNITS = 10n ** 6n;
const ZERO_WORD = `0x${'0'.repeat(64)}`;
let rpcUrl: string;
let withoutOverride: RpcFaultProxy;
let deployer: ReturnType<typeof startDeployer>;
/** A wallet, and its vault. */
let owner: string;
let cold: string;
const address: Record<string, string> = {};

beforeAll(async () => {
  rpcUrl = infrastructure().rpcUrl;
  withoutOverride = await startRpcFaultProxy({ target: rpcUrl });
  await withoutOverride.setFault('no-override');
  deployer = startDeployer(rpcUrl);
  owner = await (await deployer.provider.getSigner(6)).getAddress();
  cold = await (await deployer.provider.getSigner(7)).getAddress();
  const deploy = async (name: string, ...args: unknown[]) => {
    address[name] = await deployer.deploy(name, ...args);
  };
  await deploy('Coin', cold, 1_000n * UNITS);
  await deploy('Vault', address['Coin']);
  await deploy('Roles', owner);
  await deploy('Multi', owner);
  await deploy('Nft', cold);
  await deploy('Items', cold);
  await deploy('Registry');
  // Each contract treats every call alike: it answers with the word 2, loops, returns too much or
  // too little, or reverts.
  address['answers2'] = await deployCode(rpcUrl, '600260005260206000f3');
  address['loops'] = await deployCode(rpcUrl, '5b600056');
  address['returnsMuch'] = await deployCode(rpcUrl, '6001600052620100006000f3');
  address['returnsLittle'] = await deployCode(rpcUrl, '601f6000f3');
  address['reverts'] = await deployCode(rpcUrl, '60206000fd');
  address['revertsEmpty'] = await deployCode(rpcUrl, '60006000fd');
  address['revertsMuch'] = await deployCode(rpcUrl, '621000006000fd');
  address['writable'] = await deployCode(rpcUrl, WRITABLE_CODE);
  address['swallows'] = await deployCode(rpcUrl, swallowingCode(address['loops']));
  address['pokes'] = await deployCode(rpcUrl, pokingCode(address['writable']));
});
afterAll(async () => {
  deployer.close();
  await withoutOverride[Symbol.asyncDispose]();
});
afterEach(() => callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, '0x']));

const call = (name: string, signature: string, over: Partial<ContractCondition> = {}): Rule => ({
  type: 'CONTRACT',
  chainId: CHAIN,
  contractAddress: address[name] ?? name,
  roleId: name,
  function: signature,
  ...over,
});
const IS_MEMBER = 'function isMember(address) view returns (bool)';
const hostile = (name: string, over: Partial<ContractCondition> = {}) =>
  call(name, IS_MEMBER, { args: ['$account'], ...over });
const coin = (minToken: string): Rule => ({
  type: 'ERC20',
  chainId: CHAIN,
  contractAddress: address['Coin'] ?? '',
  roleId: 'coin',
  minToken,
});

/** One token of a contract that answers to `balanceOf`. */
const token = (name: string): Rule =>
  ({ ...coin('1'), type: 'ERC721', contractAddress: address[name] ?? '', roleId: name }) as Rule;

const connectTo = (url: string) =>
  connectTestChains([{ urls: [url], delegateRegistry: address['Registry'] ?? '' }]);

describe.each(['reader', 'multicall3', 'plain'] as const)('read by %s', (method) => {
  async function connect() {
    if (method === 'multicall3') await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
    return connectTo(method === 'reader' ? rpcUrl : withoutOverride.url);
  }

  const good = () => [
    call('Vault', 'function convertToAssets(uint256 shares) view returns (uint256)', {
      args: ['500'],
      operator: 'eq',
      value: '500',
    }),
    call('Coin', 'function getVotes(address account) view returns (uint256)', {
      args: [cold],
      operator: 'gte',
      value: String(1_000n * UNITS),
    }),
    call('Roles', 'function hasRole(bytes32 role, address account) view returns (bool)', {
      args: [ZERO_WORD, '$account'],
    }),
    call('Multi', 'function balanceOf(address owner, uint256 id) view returns (uint256)', {
      args: ['$account', '7'],
      operator: 'gt',
      value: '70',
    }),
    call('Coin', 'function eip712Domain() view returns (bytes1 fields)', { operator: 'ne', value: '0x00' }),
    // A tuple, an output beside dynamic ones, and the time of the block.
    call(
      'Coin',
      'function checkpoints(address, uint32) view returns ((uint48 key, uint208 value) checkpoint)',
      {
        args: [cold, '0'],
        returns: 'checkpoint.value',
        operator: 'eq',
        value: String(1_000n * UNITS),
      },
    ),
    call('Coin', DOMAIN, { returns: 'chainId', operator: 'eq', value: String(CHAIN) }),
    call('Coin', 'function clock() view returns (uint48)', { operator: 'lt', value: '$timestamp-60' }),
  ];
  const DOMAIN =
    'function eip712Domain() view returns (bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)';
  const VERDICTS = [true, true, true, false, true, true, true, true];

  test('judges the answers of contracts of OpenZeppelin', async () => {
    await using chains = await connect();
    const result = await chains.judge({ account: owner, rules: good(), explain: true });
    const { roles, errors, details, blocks } = result;
    expect({ granted: roles.map(({ granted }) => granted), errors }).toEqual({
      granted: VERDICTS,
      errors: [],
    });
    expect(details?.map(({ observed }) => observed)).toEqual([
      ...['500', '1000000000', 'true', '70', '0x0f', '1000000000', String(CHAIN)],
      expect.stringMatching(/^[1-9][0-9]*$/),
    ]);
    const time = blocks[CHAIN]?.timestamp ?? 0;
    expect(details?.at(-1)?.required).toEqual({ operator: 'lt', value: String(time - 60) });
  });

  test('a function called for many wallets at once is called with the address of each', async () => {
    await using chains = await connect();
    const strangers = Array.from({ length: 20 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}`);
    const rules = [
      call('Roles', 'function hasRole(bytes32, address) view returns (bool)', {
        args: [ZERO_WORD, '$account'],
      }),
      call('Coin', 'function getVotes(address) view returns (uint256)', {
        args: ['$account'],
        operator: 'eq',
        value: String(1_000n * UNITS),
      }),
      // The same function about a fixed wallet, the role's holder, whichever wallet is checked.
      call('Roles', 'function hasRole(bytes32, address) view returns (bool)', { args: [ZERO_WORD, owner] }),
    ];
    const judged = [owner, cold, ...strangers].map(async (account) => [
      account,
      grantedOf(await chains.judge({ account, rules })),
    ]);
    expect(Object.fromEntries(await Promise.all(judged))).toEqual({
      ...Object.fromEntries(strangers.map((stranger) => [stranger, [false, false, true]])),
      [owner]: [true, false, true],
      [cold]: [false, true, true],
    });
  });

  test('hostile contracts change nothing for the others', async () => {
    await using chains = await connect();
    const bad = ['answers2', 'loops', 'returnsLittle', 'reverts', 'revertsEmpty', 'revertsMuch'];
    const rules = [...good(), ...bad.map((name) => hostile(name)), hostile('returnsMuch'), ...good()];
    const result = await chains.judge({ account: owner, rules });
    const codes = Object.fromEntries(
      result.errors.filter(isRuleFault).map(({ roleId, code }) => [roleId, code]),
    );
    expect(codes).toEqual({
      answers2: 'return-malformed',
      loops: 'gas-exhausted',
      returnsLittle: 'return-malformed',
      reverts: 'call-reverted',
      revertsEmpty: 'call-reverted',
      // Without the reader nothing cuts the answer short: it is endless.
      revertsMuch: method === 'reader' ? 'call-reverted' : expect.any(String),
    });
    expect(result.roles.map(({ granted }) => granted)).toEqual([...VERDICTS, true, ...VERDICTS]);
  });

  test('writes of a call are invisible to every other read', async () => {
    await using chains = await connect();
    const poke = { ...call('writable', 'function poke() view returns (bool)'), roleId: 'poke' };
    const result = await chains.judge({ account: owner, rules: [poke, token('pokes'), token('writable')] });
    // In the reader's static call the poke fails and uses up the gas, so what comes after it is
    // unknown.
    const ofPokes = method === 'reader' ? [] : [{ id: 'pokes', granted: true }];
    expect(result.roles.filter(({ id }) => id !== 'poke')).toEqual([
      ...ofPokes,
      { id: 'writable', granted: true },
    ]);
  });

  test('onRevert denies for a revert with data, and for no other failure', async () => {
    await using chains = await connect();
    const names = ['reverts', 'revertsEmpty', 'loops', 'returnsLittle', `0x${'12'.repeat(20)}`];
    const result = await chains.judge({
      account: owner,
      rules: names.map((name) => hostile(name, { onRevert: 'deny' })),
    });
    expect(result.roles).toEqual([{ id: 'reverts', granted: false }]);
    expect(codesOf(result)).toEqual([
      'call-reverted',
      'gas-exhausted',
      'return-malformed',
      'contract-not-found',
    ]);
  });
});

test('the answer of a token whose own call ran out of gas is not taken for a balance, whatever it is', async () => {
  await using chains = await connectTo(rpcUrl);
  const rules = [token('swallows'), token('pokes'), token('writable')];
  const result = await chains.judge({ account: owner, rules });
  expect(result.roles).toEqual([{ id: 'writable', granted: true }]);
  expect(codesOf(result)).toEqual(['gas-exhausted', 'gas-exhausted']);
});

test('the time of a block is what the call at the block says, and a quorum of headers without one', async () => {
  const head = await deployer.provider.getBlock('latest');
  const ended = toBeHex((head?.timestamp ?? 0) - 1_800, 32);
  const club = await deployCode(rpcUrl, `7f${ended.slice(2)}60005260206000f3`);
  const rules = [
    call(club, 'function expiresAt() view returns (uint64)', { operator: 'gt', value: '$timestamp' }),
  ];
  await using plain = await startRpcFaultProxy({ target: rpcUrl });
  await plain.setFault('plain-calls-only');
  for (const target of [rpcUrl, withoutOverride.url, plain.url]) {
    if (target === withoutOverride.url)
      await callJsonRpc(rpcUrl, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
    await using earlier = await startRpcFaultProxy({ target });
    await earlier.setFault('earlier-times');
    const isPlain = target === plain.url;
    await using chains = connectTestChains([
      isPlain ? { urls: [earlier.url, target], quorum: 2 } : { urls: [earlier.url] },
    ]);
    const { roles, errors } = await chains.judge({ account: owner, rules });
    expect({ roles, codes: errors.map(({ code }) => code) }).toEqual(
      isPlain
        ? { roles: [], codes: ['rpc-disagreement'] }
        : { roles: [{ id: club, granted: false }], codes: [] },
    );
  }
});

describe('vaults', () => {
  const target = (name: string) => address[name] ?? '';
  const give = (kind: string, ...args: unknown[]) =>
    deployer.send(7, 'Registry', target('Registry'), `delegate${kind}`, ...args);
  const nft = (over: object): Rule =>
    ({
      type: 'ERC721',
      chainId: CHAIN,
      contractAddress: target('Nft'),
      roleId: 'nft',
      minToken: '1',
      ...over,
    }) as Rule;
  const rules = () => [
    coin('300'),
    nft({ tokenId: '1' }),
    nft({ minToken: '2' }),
    nft({ type: 'ERC1155', contractAddress: target('Items'), tokenId: '7', minToken: '20' }),
    { type: 'NATIVE', chainId: CHAIN, roleId: 'native', minToken: '15000' } as Rule,
    call('Coin', 'function getVotes(address) view returns (uint256)', {
      args: ['$account'],
      operator: 'gte',
      value: '1',
    }),
  ];

  async function grants(over: { accounts?: string[]; vaults?: string[]; rules?: Rule[] } = {}) {
    await using chains = connectTo(rpcUrl);
    const result = await chains.judge({
      account: over.accounts?.[0] ?? owner,
      vaults: [cold],
      rules: rules(),
      ...over,
    });
    expect(result.errors).toEqual([]);
    return result;
  }

  afterEach(async () => {
    await give('All', owner, ZERO_WORD, false);
    await give('Contract', owner, target('Nft'), ZERO_WORD, false);
    await give('ERC721', owner, target('Nft'), 1, ZERO_WORD, false);
    await give('ERC20', owner, target('Coin'), ZERO_WORD, 0);
    await give('ERC1155', owner, target('Items'), 7, ZERO_WORD, 0);
  });

  const NOTHING = [false, false, false, false, false, false];

  test('count only while they have delegated', async () => {
    expect(grantedOf(await grants())).toEqual(NOTHING);
    await give('All', owner, ZERO_WORD, true);
    expect(grantedOf(await grants())).toEqual([true, true, true, true, true, true]);
    await give('All', owner, ZERO_WORD, false);
    expect(grantedOf(await grants())).toEqual(NOTHING);
  });

  test('count to the extent of each kind of delegation', async () => {
    await give('ERC721', owner, target('Nft'), 1, ZERO_WORD, true);
    await give('ERC20', owner, target('Coin'), ZERO_WORD, 299n * UNITS);
    await give('ERC1155', owner, target('Items'), 7, ZERO_WORD, 20);
    expect(grantedOf(await grants())).toEqual([false, true, false, true, false, false]);
    await give('ERC20', owner, target('Coin'), ZERO_WORD, 300n * UNITS);
    await give('Contract', owner, target('Nft'), ZERO_WORD, true);
    expect(grantedOf(await grants())).toEqual([true, true, true, true, false, false]);
  });

  test('do not count if they delegated to a stranger, and count once if they are also an account', async () => {
    const stranger = await (await deployer.provider.getSigner(8)).getAddress();
    await give('All', stranger, ZERO_WORD, true);
    expect(grantedOf(await grants())).toEqual(NOTHING);
    expect(
      grantedOf(await grants({ accounts: [owner, cold], rules: [coin('1000'), coin('1000.000001')] })),
    ).toEqual([true, false]);
  });

  test('do not count on a chain without the registry', async () => {
    await using chains = connectTestChains([{ urls: [rpcUrl] }]);
    const result = await chains.judge({ account: owner, vaults: [cold], rules: rules() });
    expect({ granted: grantedOf(result), errors: result.errors }).toEqual({ granted: NOTHING, errors: [] });
  });
});

describe('a past block', () => {
  const at = (block: number) => ({
    consistency: { blockTag: 'latest' as const, minBlock: {}, atBlock: { [CHAIN]: block } },
  });

  test('is read and proved', async () => {
    await using chains = connectTo(rpcUrl);
    const before = await deployer.provider.getBlockNumber();
    await deployer.send(7, 'Coin', address['Coin'] ?? '', 'transfer', owner, 10n * UNITS);
    const rules = [coin('10')];
    expect(grantedOf(await chains.judge({ account: owner, rules }))).toEqual([true]);
    const past = await chains.judge({ account: owner, rules, ...at(before) });
    expect(grantedOf(past)).toEqual([false]);
    expect(past.blocks[CHAIN]).toMatchObject({ number: before, proved: true });
    await deployer.send(6, 'Coin', address['Coin'] ?? '', 'transfer', cold, 10n * UNITS);
  });

  test('is unavailable if it is far past the head, and asking again does not help', async () => {
    await using chains = connectTo(rpcUrl);
    const { errors } = await chains.judge({ account: owner, rules: [coin('1')], ...at(1_000_000) });
    expect(errors).toMatchObject([{ code: 'block-unavailable', retryable: false }]);
  });
});
