import { Contract, id, ZeroAddress } from 'ethers';
import { type RunningChain, startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { validateCheck } from '../../../services/gateway/checks/validate-check.ts';
import { EXAMPLE_CHAIN } from '../../../services/gateway/docs/examples.ts';
import { makeOpenApi } from '../../../services/gateway/docs/openapi.ts';
import { makeDocsSite } from '../../../services/gateway/docs/site.ts';
import { startDeployer } from '../../support/contracts/deploy-contracts.ts';
import { connectTestChains, type TestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';

// Scenario: every rule set of the documentation's page of recipes, read from that page, is sent as a
// check of four wallets. The contracts are of the kind that the recipe is for: those of OpenZeppelin,
// Uniswap and Safe as they are published, and small ones where no package has one.

const [CHAIN, OTHER_CHAIN] = [31_337, 8_453];
const UNITS = 10n ** 6n;
const ARTIFACTS = [
  ...['UniswapV2Factory', 'UniswapV2Pair'].map((name) => `@uniswap/v2-core/build/${name}.json`),
  '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  '@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
  ...['Safe.sol/Safe', 'proxies/SafeProxy.sol/SafeProxy'].map(
    (path) => `@safe-global/safe-contracts/build/artifacts/contracts/${path}.json`,
  ),
];

type Recipe = { readonly heading: string; readonly text: string; readonly check: string };

/** The recipes of the page as its readers see it. */
function readRecipes(): Recipe[] {
  const site = makeDocsSite({
    document: makeOpenApi(''),
    baseUrl: '',
    example: { ...EXAMPLE_CHAIN, chainId: CHAIN },
  });
  const [, ...sections] = (site.get('/docs/recipes.md')?.body ?? '').split(/^## /m);
  return sections.map((text) => ({
    heading: text.split('\n', 1)[0] ?? '',
    text,
    check: /^```json a rule set\n(.*?)^```$/ms.exec(text)?.[1] ?? '',
  }));
}

/** The roles that each wallet gets; a stranger gets none. */
type Expected = { readonly member: string[]; readonly almost: string[]; readonly other: string[] };
const only = (...member: string[]): Expected => ({ member, almost: [], other: [] });
/** The other wallet holds a thousand tokens, which are enough by themselves. */
const orHeld = (role: string): Expected => ({ member: [role], almost: [], other: [role] });
const EXPECTED: Readonly<Record<string, Expected>> = {
  'Vault shares in assets (ERC-4626)': orHeld('saver'),
  'Staked and held': orHeld('holder'),
  'Pool share': only('provider'),
  Vesting: only('team'),
  'Votes (ERC20Votes)': only('delegate'),
  'Subscription that expires': only('subscriber'),
  'Hat with eligibility and expiry': only('steward'),
  'Safe owner': { member: ['signer'], almost: [], other: ['signer'] },
  'Soulbound (ERC-5192)': only('alumni'),
  'Rented (ERC-4907)': only('player'),
  'Concentrated liquidity': only('maker'),
  'Two chains at one instant': orHeld('whale'),
  'Delegation from a cold wallet': only('member'),
  'Allow list on chain': only('moderator'),
  'Tier by a view call': { member: ['silver', 'gold'], almost: ['silver'], other: [] },
};

type Deployer = ReturnType<typeof startDeployer>;
const [MEMBER, ALMOST, OTHER, COLD] = [5, 6, 7, 8];
let wallets: Readonly<Record<'member' | 'almost' | 'other' | 'stranger', string>>;
/** What stands for the names in capitals. */
let addresses: Record<string, string>;
let otherChain: RunningChain;
let here: Deployer;
let there: Deployer;
let chains: TestChains;

beforeAll(async () => {
  const { rpcUrl } = infrastructure();
  const [port = 0] = await findFreePorts(1);
  otherChain = await startChain({ port, chainId: OTHER_CHAIN });
  const sources = ['rich-rules.sol', 'recipes.sol', 'delegate-registry.sol'];
  here = startDeployer(rpcUrl, { sources, artifacts: ARTIFACTS });
  there = startDeployer(otherChain.rpc, { sources: ['rich-rules.sol'] });
  const addressOf = async (index: number) => (await here.provider.getSigner(index)).getAddress();
  wallets = {
    member: await addressOf(MEMBER),
    almost: await addressOf(ALMOST),
    other: await addressOf(OTHER),
    stranger: `0x${'99'.repeat(20)}`,
  };
  addresses = { COLD: await addressOf(COLD) };
  await deployTokens(await addressOf(0));
  await fillPools(await addressOf(0));
  await admitMembers();
  await mineTogether(rpcUrl);
  const urls = { [CHAIN]: rpcUrl, [OTHER_CHAIN]: otherChain.rpc };
  chains = connectTestChains(
    [CHAIN, OTHER_CHAIN].map((chainId) => ({
      chainId,
      urls: [urls[chainId] ?? ''],
      delegateRegistry: addresses['REGISTRY'] ?? '',
    })),
  );
});
afterAll(async () => {
  await chains?.[Symbol.asyncDispose]();
  for (const deployer of [here, there]) deployer?.close();
  await otherChain?.stop();
});

const named = (name: string): string => {
  const address = addresses[name];
  if (address === undefined) throw new RangeError(`nothing is deployed as ${name}`);
  return address;
};
const deploy = async (name: string, contract: string, ...args: unknown[]) => {
  addresses[name] = await here.deploy(contract, ...args);
};
const send = (from: number, contract: string, name: string, method: string, ...args: unknown[]) =>
  here.send(from, contract, named(name), method, ...args);
const timeOf = async (rpc: string): Promise<number> => {
  const head = (await callJsonRpc(rpc, 'eth_getBlockByNumber', ['latest', false])) as { timestamp: string };
  return Number(head.timestamp);
};

/** What the wallets hold, stake and vote with. */
async function deployTokens(bank: string): Promise<void> {
  const coins = [await here.deploy('Coin', bank, 10n ** 15n), await here.deploy('Coin', bank, 10n ** 15n)];
  // The first token of a pair is the one with the lower address.
  const [first = '', second = ''] = coins.sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  Object.assign(addresses, { TOKEN: first, SECOND: second });
  await deploy('VAULT', 'Vault', first);
  await deploy('STAKING', 'Staking', first);
  addresses['BRIDGED'] = await there.deploy('Coin', bank, 10n ** 15n);
  const holders = [
    { from: MEMBER, wallet: wallets.member, shares: 400n, held: 300n * UNITS },
    { from: ALMOST, wallet: wallets.almost, shares: 350n, held: 300n * UNITS - 1n },
  ];
  for (const { from, wallet, shares, held } of holders) {
    await send(0, 'Coin', 'TOKEN', 'transfer', wallet, (shares + 700n) * UNITS + held);
    await send(from, 'Coin', 'TOKEN', 'approve', named('VAULT'), shares * UNITS);
    await send(from, 'Vault', 'VAULT', 'deposit', shares * UNITS, wallet);
    await send(from, 'Coin', 'TOKEN', 'approve', named('STAKING'), 700n * UNITS);
    await send(from, 'Staking', 'STAKING', 'stake', 700n * UNITS);
    await there.send(0, 'Coin', named('BRIDGED'), 'transfer', wallet, 700n * UNITS);
  }
  // A share is worth two tokens now.
  await send(0, 'Coin', 'TOKEN', 'transfer', named('VAULT'), 750n * UNITS);
  await send(0, 'Coin', 'TOKEN', 'transfer', wallets.other, 1_000n * UNITS);
  await send(OTHER, 'Coin', 'TOKEN', 'delegate', wallets.member);
}

/** A pair of Uniswap V2 and a position of V3. */
async function fillPools(bank: string): Promise<void> {
  const pair = [named('TOKEN'), named('SECOND')];
  await deploy('V2', 'UniswapV2Factory', ZeroAddress);
  await send(0, 'UniswapV2Factory', 'V2', 'createPair', ...pair);
  const factory = new Contract(named('V2'), here.abiOf('UniswapV2Factory'), here.provider);
  addresses['PAIR'] = await factory.getFunction('getPair')(...pair);
  for (const name of ['TOKEN', 'SECOND'])
    await send(0, 'Coin', name, 'transfer', named('PAIR'), 1_000n * UNITS);
  await send(0, 'UniswapV2Pair', 'PAIR', 'mint', wallets.member);
  await send(MEMBER, 'UniswapV2Pair', 'PAIR', 'transfer', wallets.almost, 400n * UNITS);

  await deploy('V3', 'UniswapV3Factory');
  await deploy('POSITIONS', 'NonfungiblePositionManager', named('V3'), ZeroAddress, ZeroAddress);
  const positions = (method: string, ...args: unknown[]) =>
    send(0, 'NonfungiblePositionManager', 'POSITIONS', method, ...args);
  const [fee, ticks, amounts] = [3_000, [-600, 600], [UNITS, UNITS]];
  await positions('createAndInitializePoolIfNecessary', ...pair, fee, 2n ** 96n);
  for (const name of ['TOKEN', 'SECOND'])
    await send(0, 'Coin', name, 'approve', named('POSITIONS'), 10n ** 12n);
  for (const recipient of [wallets.member, bank])
    await positions('mint', [...pair, fee, ...ticks, ...amounts, 0, 0, recipient, 2n ** 40n]);
}

/** Memberships, some of which have ended or are of another club. */
async function admitMembers(): Promise<void> {
  const { member, almost, other } = wallets;
  const now = await timeOf(infrastructure().rpcUrl);
  const [ended, later] = [now - 1, now + 10 ** 6];
  await deploy('VESTING', 'Vesting', member, now, 10 ** 8);
  await send(0, 'Coin', 'TOKEN', 'transfer', named('VESTING'), 1_000n * UNITS);
  await deploy('CLUB', 'Club');
  await send(0, 'Club', 'CLUB', 'subscribe', member, later);
  await send(0, 'Club', 'CLUB', 'subscribe', almost, ended);
  await deploy('HATS', 'Hats');
  await send(0, 'Hats', 'HATS', 'mintHat', 7, member, later);
  await send(0, 'Hats', 'HATS', 'mintHat', 7, almost, ended);
  await send(0, 'Hats', 'HATS', 'mintHat', 8, other, later);
  await deploy('SINGLETON', 'Safe');
  await deploy('SAFE', 'SafeProxy', named('SINGLETON'));
  const none = [ZeroAddress, '0x', ZeroAddress, ZeroAddress, 0, ZeroAddress];
  await send(0, 'Safe', 'SAFE', 'setup', [member, other], 2, ...none);
  await deploy('BADGE', 'Badge', member);
  await deploy('RENTAL', 'Rental', almost);
  await send(ALMOST, 'Rental', 'RENTAL', 'setUser', 1, member, later);
  await send(ALMOST, 'Rental', 'RENTAL', 'setUser', 2, other, ended);
  await deploy('NFT', 'Nft', named('COLD'));
  await deploy('REGISTRY', 'Registry');
  await send(
    COLD,
    'Registry',
    'REGISTRY',
    'delegateContract',
    member,
    named('NFT'),
    `0x${'0'.repeat(64)}`,
    true,
  );
  await deploy('LIST', 'Roles', await (await here.provider.getSigner(0)).getAddress());
  await send(0, 'Roles', 'LIST', 'grantRole', id('MODERATOR_ROLE'), member);
  await send(0, 'Roles', 'LIST', 'grantRole', id('ANOTHER_ROLE'), other);
  await deploy('TIERS', 'Tiers');
  await send(0, 'Tiers', 'TIERS', 'setTier', member, 7, 2);
  await send(0, 'Tiers', 'TIERS', 'setTier', almost, 7, 1);
  await send(0, 'Tiers', 'TIERS', 'setTier', other, 8, 2);
}

/** Heads of both chains that are a second apart. */
async function mineTogether(rpcUrl: string): Promise<void> {
  await callJsonRpc(rpcUrl, 'evm_mine', []);
  const next = Math.max(await timeOf(rpcUrl), await timeOf(otherChain.rpc)) + 1;
  await callJsonRpc(otherChain.rpc, 'evm_setNextBlockTimestamp', [next]);
  await callJsonRpc(otherChain.rpc, 'evm_mine', []);
}

/** The roles of a wallet by a check with the page's rule set, which the gateway would accept. */
async function rolesOf(account: string, check: string): Promise<string[]> {
  const filled = JSON.parse(check, (_name, value: unknown) =>
    typeof value === 'string' ? (addresses[value] ?? value) : value,
  ) as object;
  const validation = validateCheck(
    { account, ...filled },
    {
      isEnterprise: false,
      chainIds: new Set([CHAIN, OTHER_CHAIN]),
      callback: { allowHttp: false, allowedCidrs: [] },
      signsVerdicts: false,
    },
  );
  if (!validation.ok) throw new Error(JSON.stringify(validation.faults));
  const { rules, vaults } = validation.value;
  const result = await chains.judge({ account, rules, ...(vaults && { vaults: [...vaults] }) });
  expect({ errors: result.errors, judged: result.roles.length }).toEqual({
    errors: [],
    judged: rules.length,
  });
  return result.roles.filter(({ granted }) => granted).map((role) => role.id);
}

test('the page has the recipes that are tested here, and no other', () => {
  expect(readRecipes().map(({ heading }) => heading)).toEqual(Object.keys(EXPECTED));
});

describe.each(readRecipes())('$heading', ({ heading, text, check }) => {
  test('grants whom it is for, and nobody else', async () => {
    const roles: Record<string, string[]> = {};
    for (const [name, account] of Object.entries(wallets)) roles[name] = await rolesOf(account, check);
    expect(roles).toEqual({ ...EXPECTED[heading], stranger: [] });
  });

  test('says what it does not prove', () => {
    expect(text).toMatch(/^\*\*Does not prove\*\* /m);
  });
});
