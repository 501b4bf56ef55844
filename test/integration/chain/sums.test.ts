import type { Rule, SumTerm } from '#shared/contracts/rules/rule.ts';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { type RunningChain, startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { startDeployer } from '../../support/contracts/deploy-contracts.ts';
import { type RpcFaultProxy, startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';

// Scenario: amounts of two real chains whose clocks differ are added. A holder sends tokens from
// one to the other, and they are never counted on both.

const [SLOW, FAST] = [31_337, 31_338];
const MOVED = 100n * 10n ** 6n;
let slow: RunningChain;
let fast: RunningChain;
let deployers: Record<number, ReturnType<typeof startDeployer>>;
/** In front of the fast chain. */
let proxy: RpcFaultProxy;
/** The same address on both chains. */
let coin: string;
let wallet: string;

beforeAll(async () => {
  const ports = await findFreePorts(2);
  [slow, fast] = await Promise.all([
    startChain({ port: ports[0] ?? 0 }),
    startChain({ port: ports[1] ?? 0, chainId: FAST }),
  ]);
  proxy = await startRpcFaultProxy({ target: fast.rpc });
  deployers = { [SLOW]: startDeployer(slow.rpc), [FAST]: startDeployer(fast.rpc) };
  const bridge = await (await deployerOf(SLOW).provider.getSigner(0)).getAddress();
  wallet = await (await deployerOf(SLOW).provider.getSigner(5)).getAddress();
  coin = await deployerOf(SLOW).deploy('Coin', bridge, 1_000_000n * MOVED);
  expect(await deployerOf(FAST).deploy('Coin', bridge, 1_000_000n * MOVED)).toBe(coin);
});
afterAll(async () => {
  for (const deployer of Object.values(deployers)) deployer.close();
  await proxy[Symbol.asyncDispose]();
  await Promise.all([slow.stop(), fast.stop()]);
});

function deployerOf(chainId: number) {
  const deployer = deployers[chainId];
  if (deployer === undefined) throw new RangeError(`chain ${chainId} was not started`);
  return deployer;
}

const rpcOf = (chainId: number) => (chainId === SLOW ? slow.rpc : fast.rpc);
const headOf = async (chainId: number) => {
  const block = (await callJsonRpc(rpcOf(chainId), 'eth_getBlockByNumber', ['latest', false])) as {
    number: string;
    timestamp: string;
  };
  return { number: Number(block.number), timestamp: Number(block.timestamp) };
};
const timestampAt = async (chainId: number, number: number) => {
  const answer = await callJsonRpc(rpcOf(chainId), 'eth_getBlockByNumber', [
    `0x${number.toString(16)}`,
    false,
  ]);
  return Number((answer as { timestamp: string }).timestamp);
};
const setNextTime = (chainId: number, timestamp: number) =>
  callJsonRpc(rpcOf(chainId), 'evm_setNextBlockTimestamp', [timestamp]);

async function mineAt(chainId: number, timestamps: readonly number[]): Promise<void> {
  for (const timestamp of timestamps) {
    await setNextTime(chainId, timestamp);
    await callJsonRpc(rpcOf(chainId), 'evm_mine', []);
  }
}

/** A time later than the heads of both chains. */
const nextTime = async () => {
  const [one, other] = await Promise.all([headOf(SLOW), headOf(FAST)]);
  return Math.max(one.timestamp, other.timestamp) + 200;
};

const term = (chainId: number): SumTerm => ({ type: 'ERC20', chainId, contractAddress: coin });
const held = (minToken: string): Rule => ({
  ...{ type: 'SUM', roleId: 'held', minToken },
  rules: [term(SLOW), term(FAST)],
});
const simple = (chainId: number): Rule =>
  ({ ...term(chainId), roleId: `on ${chainId}`, minToken: '1' }) as Rule;

const connect = (fastUrls: readonly string[] = [proxy.url]) =>
  connectTestChains([
    { chainId: SLOW, urls: [slow.rpc], blockTimeMs: 12_000 },
    { chainId: FAST, urls: fastUrls },
  ]);

/**
 * The wallet gets 100 on the slow chain, which makes no block after that. Later, at the time of
 * the clock, it has sent them to the fast one, whose blocks tell so.
 *
 * @param skew how much older the head of the slow chain is, in seconds
 */
async function moveTokens(skew: number): Promise<{ arrivedIn: number }> {
  const time = await nextTime();
  await setNextTime(SLOW, time - skew);
  await deployerOf(SLOW).send(0, 'Coin', coin, 'transfer', wallet, MOVED);
  const before = Array.from({ length: 5 }, (_, index) => time - skew - 10 + 2 * index);
  await mineAt(FAST, before);
  await setNextTime(FAST, time - skew + 1);
  await deployerOf(FAST).send(0, 'Coin', coin, 'transfer', wallet, MOVED);
  const { number } = await headOf(FAST);
  const rest = Array.from({ length: Math.max(0, skew - 1) }, (_, index) => time - skew + 2 + index);
  await mineAt(FAST, rest);
  return { arrivedIn: number };
}

/** Takes the tokens back, so that each test begins with none. */
afterEach(async () => {
  for (const chainId of [SLOW, FAST]) {
    const { provider } = deployerOf(chainId);
    const balance = BigInt(
      await provider.call({ to: coin, data: `0x70a08231${wallet.slice(2).padStart(64, '0')}` }),
    );
    if (balance > 0n) await deployerOf(chainId).send(5, 'Coin', coin, 'transfer', demoTokens.erc20, balance);
  }
});

test.each([1, 2, 12, 35, 59, 60])(
  'tokens that move are counted once where the heads are %i s apart',
  async (skew) => {
    const { arrivedIn } = await moveTokens(skew);
    await using chains = connect();
    const result = await chains.judge({
      account: wallet,
      rules: [held('100'), held('100.000001'), simple(FAST)],
      explain: true,
    });
    expect(result.errors).toEqual([]);
    expect(result.roles.map(({ granted }) => granted)).toEqual([true, false, false]);
    expect(result.details?.[0]).toMatchObject({
      observed: '100',
      rules: [{ observed: '100' }, { observed: '0' }],
    });
    const [own, other] = [result.blocks[SLOW], result.blocks[FAST]];
    expect(own?.number).toBe((await headOf(SLOW)).number);
    expect(other?.number).toBe(arrivedIn - 1);
    expect(other?.timestamp).toBeLessThanOrEqual(own?.timestamp ?? 0);
    expect(await timestampAt(FAST, arrivedIn)).toBeGreaterThan(own?.timestamp ?? 0);
  },
);

test('heads of the same second are read', async () => {
  const time = await nextTime();
  for (const chainId of [SLOW, FAST]) {
    await setNextTime(chainId, time);
    await deployerOf(chainId).send(0, 'Coin', coin, 'transfer', wallet, MOVED);
  }
  await using chains = connect();
  const result = await chains.judge({ account: wallet, rules: [held('200')] });
  expect(result.roles).toEqual([{ id: 'held', granted: true }]);
  expect(result.blocks[FAST]?.number).toBe((await headOf(FAST)).number);
});

test.each([61, 70])('a head that is %i s older leaves its terms open, and no other rule', async (skew) => {
  await moveTokens(skew);
  await using chains = connect();
  const result = await chains.judge({
    account: wallet,
    rules: [held('150'), held('100'), simple(SLOW), simple(FAST)],
  });
  expect(result.errors).toMatchObject([
    {
      ruleIndex: 0,
      code: 'chain-stale',
      retryable: true,
      chainId: SLOW,
      contractAddress: coin,
      path: '/rules/0/rules/0',
    },
  ]);
  // What the other chain holds is enough by itself.
  expect(result.roles).toEqual([
    { id: 'held', granted: true },
    { id: `on ${SLOW}`, granted: true },
    { id: `on ${FAST}`, granted: true },
  ]);
  expect(result.blocks[FAST]?.number).toBe((await headOf(FAST)).number);
});

test('a minimum block is read if it is later than the instant, and blocks that are named as they are', async () => {
  const { arrivedIn } = await moveTokens(20);
  const head = await headOf(SLOW);
  await using chains = connect();
  const at = async (consistency: object) => {
    const { roles, blocks } = await chains.judge({
      account: wallet,
      rules: [held('200')],
      consistency: { blockTag: 'latest', minBlock: {}, ...consistency },
    });
    return [roles[0]?.granted, blocks[SLOW]?.number, blocks[FAST]?.number];
  };
  expect(await at({ minBlock: { [FAST]: arrivedIn + 2 } })).toEqual([true, head.number, arrivedIn + 2]);
  expect(await at({ minBlock: { [FAST]: 1 } })).toEqual([false, head.number, arrivedIn - 1]);
  expect(await at({ atBlock: { [SLOW]: head.number, [FAST]: arrivedIn } })).toEqual([
    true,
    head.number,
    arrivedIn,
  ]);
});

test('a sum over one chain is read at its head, whatever the others do', async () => {
  await moveTokens(30);
  await using chains = connect();
  const own: Rule = { ...{ type: 'SUM', roleId: 'own', minToken: '100' }, rules: [term(FAST)] };
  const result = await chains.judge({ account: wallet, rules: [own, simple(SLOW)] });
  expect(result.roles.map(({ granted }) => granted)).toEqual([true, true]);
  expect(result.blocks[FAST]?.number).toBe((await headOf(FAST)).number);
});

test('a hundred checks look the block up once', async () => {
  await moveTokens(40);
  await using chains = connect();
  const judge = () => chains.judge({ account: wallet, rules: [held('100')] });
  await judge();
  const before = proxy.calls.byMethod['eth_getBlockByNumber'] ?? 0;
  const results = await Promise.all(Array.from({ length: 100 }, judge));
  expect(new Set(results.map(({ roles }) => roles[0]?.granted))).toEqual(new Set([true]));
  // The head, as often as the checks need a newer one, and no block below it.
  expect((proxy.calls.byMethod['eth_getBlockByNumber'] ?? 0) - before).toBeLessThan(10);
});

test('an endpoint that has no blocks leaves the look-up to another one', async () => {
  const { arrivedIn } = await moveTokens(10);
  await using behind = await startRpcFaultProxy({ target: fast.rpc });
  await behind.setFault({ kind: 'unknown-block', methods: ['eth_getBlockByNumber'] });
  await using chains = connect([behind.url, proxy.url]);
  const result = await chains.judge({ account: wallet, rules: [held('100.1')] });
  expect(result.roles).toEqual([{ id: 'held', granted: false }]);
  expect(result.blocks[FAST]?.number).toBe(arrivedIn - 1);
});

test('entries of a batch are read at one instant, their weights once', async () => {
  const { arrivedIn } = await moveTokens(15);
  await using chains = connect();
  const weight = { contractAddress: coin, function: 'function decimals() view returns (uint8)' };
  const weighed: Rule = {
    ...{ type: 'SUM', roleId: 'held', minToken: '100' },
    rules: [{ ...term(SLOW), times: weight, per: weight }, term(FAST)],
  };
  const lines = await chains.judgePart({
    rules: [weighed],
    entries: [{ account: wallet }, { account: demoTokens.erc20 }],
  });
  expect(lines.map(({ roles }) => roles[0]?.granted)).toEqual([true, expect.any(Boolean)]);
  expect(lines[0]?.blockNumbers).toMatchObject({ [FAST]: arrivedIn - 1 });
});

test('a chain that never answers costs its own terms, and no rule of the others', async () => {
  await moveTokens(5);
  await proxy.setFault('hang');
  try {
    await using chains = connectTestChains(
      [
        { chainId: SLOW, urls: [slow.rpc] },
        { chainId: FAST, urls: [proxy.url] },
      ],
      { evaluationMsMax: 6_000 },
    );
    const rules = [held('150'), held('100'), simple(SLOW)];
    const result = await chains.judge({ account: wallet, rules });
    expect(result.errors).toMatchObject([
      { ruleIndex: 0, chainId: FAST, path: '/rules/0/rules/1', retryable: true },
    ]);
    expect(result.roles.map(({ granted }) => granted)).toEqual([true, true]);
  } finally {
    await proxy.setFault('none');
  }
});
