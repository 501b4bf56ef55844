import type { ChainTransferred } from '#shared/contracts/watches/chain-transferred.ts';
import { watchUid } from '#shared/contracts/watches/watch.ts';
import { connectRedis, type RedisConnection } from '#shared/redis/connect.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { type FollowedContract, makeFollowedContracts } from '#shared/stores/watches/followed-contracts.ts';
import { logLeaseKey, makeLogPositions } from '#shared/stores/watches/log-positions.ts';
import { WALLETS_KEY } from '#shared/stores/watches/members/wallet-index.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { makeRegistry } from '#shared/telemetry/metrics.ts';
import { type RunningChain, startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { startFollowingTransfers } from '../../../services/evaluator/lanes/follow-transfers.ts';
import { makeFollowingMetrics } from '../../../services/evaluator/metrics.ts';
import { reachedBlocks } from '../../../services/watcher/members/check-due.ts';
import { aRuleSet } from '../../support/builders/a-rule-set.ts';
import { aWatch } from '../../support/builders/a-watch.ts';
import {
  type FaultKind,
  type RpcFaultProxy,
  startRpcFaultProxy,
} from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { connectTestRedis, testConfig, testContext } from '../../support/infrastructure/connections.ts';
import { makeDemoTransfers } from '../../support/systems/demo-transfers.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: an evaluator follows the tokens of a real chain, behind endpoints that misbehave on
// command, and keeps its position in a real Redis. Every transfer that names a watched wallet is
// published, whatever fails meanwhile.

const CHAIN_ID = 31_337;
const WATCH = aWatch();
const lower = (address: string) => address.toLowerCase();
/** A wallet that nobody else uses. */
const aWallet = (): string =>
  `0x${[...crypto.getRandomValues(new Uint8Array(20))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;

let chain: RunningChain;
let connection: RedisConnection;
let transfers: ReturnType<typeof makeDemoTransfers>;
let stack: AsyncDisposableStack;

beforeAll(async () => {
  const [port = 0] = await findFreePorts(1);
  chain = await startChain({ port });
  transfers = makeDemoTransfers(chain.rpc);
  connection = await connectTestRedis(testConfig(15));
});
afterAll(async () => {
  await connection[Symbol.asyncDispose]();
  await chain.stop();
});
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  await connection.redis.flushdb();
  await connection.redis.set(GENERATION_KEY, 'test');
});
afterEach(() => stack.disposeAsync());

const mine = (count: number) => callJsonRpc(chain.rpc, 'anvil_mine', [`0x${count.toString(16)}`]);
const headNumber = async () => Number(await callJsonRpc(chain.rpc, 'eth_blockNumber', []));

async function aProxy(fault: FaultKind = 'none'): Promise<RpcFaultProxy> {
  const proxy = stack.use(await startRpcFaultProxy({ target: chain.rpc }));
  await proxy.setFault(fault);
  return proxy;
}

const contractsOf = (blockTag: FollowedContract['blockTag']): FollowedContract[] =>
  [chain.erc20, chain.erc721, chain.erc1155].map((contract) => ({
    chainId: CHAIN_ID,
    contractAddress: lower(contract),
    blockTag,
  }));

/** Makes a watch follow the demo's tokens, with these wallets as its members. */
async function watch(wallets: readonly string[], blockTag: FollowedContract['blockTag'] = 'latest') {
  await makeFollowedContracts(connection.redis).follow(WATCH, contractsOf(blockTag));
  for (const wallet of wallets)
    await connection.redis.zadd(WALLETS_KEY, 0, `${wallet.slice(2)}/app/watch/1/member`);
}

const states = async (blockTag: FollowedContract['blockTag'] = 'latest') => {
  const known = await makeFollowedContracts(connection.redis).states(watchUid(WATCH), contractsOf(blockTag));
  return known.map(({ state, reason }) => reason ?? state);
};
const areLive = async () => (await states()).every((state) => state === 'live');

/** Waits until the position that is saved is that of the newest block. */
async function untilHeadIsRead(): Promise<void> {
  const head = await headNumber();
  await waitUntil('the head', async () => {
    const readTo = await connection.redis.hget(`logs:position:${CHAIN_ID}:latest`, 'readTo');
    return Number(readTo) === head;
  });
}

/** The transfer-following part of an evaluator. */
function anEvaluator(
  urls: readonly string[] = [chain.rpc],
  { quorum = 1, blockTimeMs = 1_000, redis = connection.redis, attemptTimeoutMs = 10_000 } = {},
) {
  const published: ChainTransferred[] = [];
  const broker = { isAway: false };
  const chains = stack.use(connectTestChains([{ urls, quorum, blockTimeMs }], { attemptTimeoutMs }));
  const following = startFollowingTransfers({
    chains: chains.chains.followable,
    redis,
    async publish(_, message) {
      if (broker.isAway) throw new Error('the broker is away');
      published.push(message as ChainTransferred);
    },
    metrics: makeFollowingMetrics(makeRegistry('test')),
    log: makeSilentLogger(),
    redisNowMs: Date.now,
    // A failure is tried again at once: the tests would only wait.
    backOffMsMin: 25,
  });
  stack.use(following);
  // A position that was not saved in time is read and published again: that is one transfer.
  const all = () => [
    ...new Map(published.map((each) => [JSON.stringify({ ...each, at: '' }), each])).values(),
  ];
  const distinct = () => all().filter(({ account }) => account !== undefined);
  /** Contracts whose events may have been missed. */
  const gaps = () => all().flatMap(({ account, contractAddress }) => (account ? [] : contractAddress));
  const of = (wallet: string) => distinct().filter(({ account }) => account === wallet);
  return {
    distinct,
    gaps,
    broker,
    calls: chains.calls,
    of,
    untilPublished: (wallet: string) => waitUntil(`a transfer of ${wallet}`, () => of(wallet)[0]),
    stop: () => following[Symbol.asyncDispose](),
  };
}

test('a transfer of each token type publishes exactly the watched wallets that it names', async () => {
  const [member, stranger] = [aWallet(), aWallet()];
  await watch([member]);
  const evaluator = anEvaluator();
  await waitUntil('following', areLive);
  const first = (await headNumber()) + 1;
  await transfers.erc20(member);
  await transfers.erc721(member, 1);
  await transfers.erc1155(member);
  await transfers.erc1155Batch(member);
  await transfers.erc20(stranger);
  await waitUntil('four transfers', () => evaluator.of(member).length >= 4);
  await untilHeadIsRead();
  const [erc20, erc721, erc1155] = contractsOf('latest').map(({ contractAddress }) => contractAddress);
  const common = { chainId: CHAIN_ID, account: member, blockTag: 'latest', dropped: false };
  expect(evaluator.distinct()).toEqual(
    [erc20, erc721, erc1155, erc1155].map((contractAddress, index) => ({
      ...common,
      contractAddress,
      blockNumber: first + index,
      transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      logIndex: 0,
      at: expect.any(String),
    })),
  );
});

test('a reorg of depth five publishes the wallets of dropped and new transfers', async () => {
  const [dropped, kept, added] = [aWallet(), aWallet(), aWallet()];
  await watch([dropped, kept, added]);
  const evaluator = anEvaluator();
  await waitUntil('following', areLive);
  await transfers.erc20(kept);
  await mine(1);
  const snapshot = await callJsonRpc(chain.rpc, 'evm_snapshot', []);
  await transfers.erc20(dropped);
  await mine(4);
  const block = (await evaluator.untilPublished(dropped)).blockNumber;
  await untilHeadIsRead();
  await callJsonRpc(chain.rpc, 'evm_revert', [snapshot]);
  await transfers.erc20(added);
  await mine(6);
  expect((await evaluator.untilPublished(added)).blockNumber).toBe(block);
  await waitUntil('the dropped transfer', () => evaluator.of(dropped).length === 2);
  expect(evaluator.of(dropped)[1]).toMatchObject({ dropped: true, blockNumber: block });
  expect(evaluator.of(kept)).toHaveLength(1);
  const [fork] = await makeLogPositions(connection.redis).forks(String(CHAIN_ID));
  // The block before has no logs: it may have been dropped too.
  expect(fork?.from).toBe(block - 1);
});

test('a process that stops renewing its lease is replaced, and no transfer in between is lost', async () => {
  const [before, between] = [aWallet(), aWallet()];
  await watch([before, between]);
  const other = stack.use(await connectTestRedisAgain());
  const first = anEvaluator([chain.rpc], { redis: other.redis });
  await waitUntil('following', areLive);
  await transfers.erc20(before);
  await first.untilPublished(before);
  await untilHeadIsRead();
  const holder = await connection.redis.get(logLeaseKey(CHAIN_ID));
  const second = anEvaluator();
  // As if killed, the first process neither renews nor releases its lease.
  other.redis.disconnect();
  await transfers.erc20(between);
  await second.untilPublished(between);
  expect(await connection.redis.get(logLeaseKey(CHAIN_ID))).not.toBe(holder);
  expect(second.of(before)).toEqual([]);
  expect(first.of(between)).toEqual([]);
});

test('a stopped process releases its lease at once', async () => {
  await watch([]);
  const evaluator = anEvaluator();
  await waitUntil('following', areLive);
  await evaluator.stop();
  expect(await connection.redis.exists(logLeaseKey(CHAIN_ID))).toBe(0);
  expect(await states()).toEqual(Array(3).fill('No evaluator reads the logs of the chain yet.'));
});

test.each([
  ['no-logs', 'No endpoint of the chain serves eth_getLogs.'],
  [
    'rpc-error',
    'No endpoint of the chain returns the logs; the last one said: the flux capacitor is misaligned',
  ],
  ['http-500', 'No endpoint of the chain returns the logs; the last one said: HTTP 500'],
  ['malformed', 'No endpoint of the chain gave a correct answer to eth_getLogs.'],
  ['foreign-logs', 'No endpoint of the chain gave a correct answer to eth_getLogs.'],
  ['hang', 'No endpoint of the chain answered eth_getLogs in time.'],
] as const)(
  'contracts are only swept while eth_getLogs fails by %s, and no transfer is missing afterwards',
  async (kind, reason) => {
    const [member, during] = [aWallet(), aWallet()];
    await watch([member, during]);
    const proxy = await aProxy();
    const evaluator = anEvaluator([proxy.url], kind === 'hang' ? { attemptTimeoutMs: 1_000 } : {});
    await waitUntil('following', areLive);
    await proxy.setFault({ kind, methods: ['eth_getLogs'] });
    await transfers.erc20(during);
    await mine(20);
    await transfers.erc20(during);
    await waitUntil('the reason', async () => (await states()).every((state) => state === reason));
    expect(evaluator.distinct()).toEqual([]);
    await proxy.setFault('none');
    await waitUntil('following again', areLive);
    await transfers.erc20(member);
    await evaluator.untilPublished(member);
    expect(evaluator.of(during)).toHaveLength(2);
  },
);

test('an endpoint that is limited to ranges of ten blocks is followed over a long range', async () => {
  const [first, last] = [aWallet(), aWallet()];
  await watch([first, last]);
  const proxy = await aProxy('ten-blocks-of-logs');
  const evaluator = anEvaluator([proxy.url]);
  await waitUntil('following', areLive);
  await evaluator.stop();
  await transfers.erc20(first);
  await mine(100);
  await transfers.erc20(last);
  const next = anEvaluator([proxy.url]);
  await next.untilPublished(first);
  await next.untilPublished(last);
  expect([evaluator.distinct(), next.distinct().length]).toEqual([[], 2]);
});

test('a node that announces a block before it has its logs hides no transfer', async () => {
  const member = aWallet();
  await watch([member]);
  const proxy = await aProxy('fewer-logs');
  const evaluator = anEvaluator([proxy.url]);
  await waitUntil('following', areLive);
  await transfers.erc20(member);
  await untilHeadIsRead();
  expect(evaluator.distinct()).toEqual([]);
  await mine(1);
  await evaluator.untilPublished(member);
});

test('with a quorum an endpoint that withholds logs hides no transfer', async () => {
  const member = aWallet();
  await watch([member]);
  const proxy = await aProxy('fewer-logs');
  const evaluator = anEvaluator([proxy.url, chain.rpc], { quorum: 2 });
  await waitUntil('following', areLive);
  await transfers.erc20(member);
  await evaluator.untilPublished(member);
});

test('another endpoint replaces an endpoint without logs, which still reads balances', async () => {
  const member = aWallet();
  await watch([member]);
  const proxy = await aProxy('no-logs');
  const evaluator = anEvaluator([proxy.url, chain.rpc]);
  await waitUntil('following', areLive);
  await transfers.erc20(member);
  await evaluator.untilPublished(member);
  expect(evaluator.calls.some((call) => call.startsWith(`${CHAIN_ID}/1/ok`))).toBe(true);
});

test('a chain that serves no logs counts as read while its head can be read: its watches are not blind', async () => {
  await watch([aWallet()]);
  const proxy = await aProxy('no-logs');
  anEvaluator([proxy.url]);
  const reach = () => makeLogPositions(connection.redis).reach(CHAIN_ID, 'latest');
  await waitUntil('a note', async () => (await reach()).readAt);
  expect((await reach()).reached).toBeUndefined();
});

test('transfers that the broker did not acknowledge are published again', async () => {
  const member = aWallet();
  await watch([member]);
  const evaluator = anEvaluator();
  await waitUntil('following', areLive);
  evaluator.broker.isAway = true;
  await transfers.erc20(member);
  await waitUntil('the reason', async () => (await states()).every((state) => state.includes('broker')));
  evaluator.broker.isAway = false;
  await evaluator.untilPublished(member);
});

test('a transfer is published to finalized watches once its block is finalized', async () => {
  const member = aWallet();
  await watch([member], 'finalized');
  const evaluator = anEvaluator();
  await waitUntil('following', async () => (await states('finalized')).every((state) => state === 'live'));
  const { blockNumber } = await transfers.erc20(member);
  await mine(40);
  await mine(40);
  expect(await evaluator.untilPublished(member)).toMatchObject({ blockTag: 'finalized', blockNumber });
  const finalized = (await callJsonRpc(chain.rpc, 'eth_getBlockByNumber', ['finalized', false])) as {
    number: string;
  };
  expect(Number(finalized.number)).toBeGreaterThanOrEqual(blockNumber);
});

test('a position that is too old is dropped, and all members of the contracts become due', async () => {
  await watch([]);
  // An hour is then less than the smallest bound, two windows of blocks.
  const slow = { blockTimeMs: 3_600_000 };
  const first = anEvaluator([chain.rpc], slow);
  await waitUntil('following', areLive);
  await first.stop();
  await mine(300);
  const second = anEvaluator([chain.rpc], slow);
  await waitUntil('the gaps', () => second.gaps().length >= 3);
  expect(second.gaps().toSorted()).toEqual(
    contractsOf('latest')
      .map(({ contractAddress }) => contractAddress)
      .toSorted(),
  );
});

test('a member that is added after the block of its transfer was read has its first check at that block or a later one', async () => {
  const [member, other] = [aWallet(), aWallet()];
  await watch([other]);
  const evaluator = anEvaluator();
  await waitUntil('following', areLive);
  const { blockNumber } = await transfers.erc20(member);
  await untilHeadIsRead();
  expect(evaluator.of(member)).toEqual([]);
  const rule = { type: 'ERC20', chainId: CHAIN_ID, contractAddress: chain.erc20, roleId: 'gold' };
  const ruleSet = aRuleSet('app', 'set', { rules: [{ ...rule, minToken: '1' }] });
  const owed = await reachedBlocks(makeLogPositions(connection.redis), aWatch(), ruleSet);
  expect(owed[CHAIN_ID]).toBeGreaterThanOrEqual(blockNumber);
});

test('losing the position in Redis loses no transfer of the last blocks, and makes all members of the contracts due', async () => {
  const member = aWallet();
  await watch([member]);
  const first = anEvaluator();
  await waitUntil('following', areLive);
  await first.stop();
  await transfers.erc20(member);
  await connection.redis.del(`logs:position:${CHAIN_ID}:latest`);
  const second = anEvaluator();
  await second.untilPublished(member);
  await waitUntil('the gaps', () => second.gaps().length === 3);
});

test('a chain without followed contracts makes no RPC call', async () => {
  const proxy = await aProxy();
  const evaluator = anEvaluator([proxy.url]);
  await waitUntil('the probe of the endpoint', () => evaluator.calls.length >= 3);
  await watch([]);
  await waitUntil('following', areLive);
  await makeFollowedContracts(connection.redis).follow(WATCH, []);
  await waitUntil(
    'the end of following',
    async () => !(await connection.redis.exists(logLeaseKey(CHAIN_ID))),
  );
  // A call that was cancelled may still be on its way to the proxy.
  await untilLookedAt(1);
  const { requestCount } = proxy.calls;
  await mine(3);
  await untilLookedAt(3);
  expect(proxy.calls.requestCount).toBe(requestCount);
  expect(await connection.redis.exists(`logs:position:${CHAIN_ID}:latest`)).toBe(0);
});

/** How often the followed contracts were read from this Redis. */
async function lookCount(): Promise<number> {
  const statistics = await connection.redis.info('commandstats');
  return Number(/cmdstat_hkeys:calls=(\d+)/.exec(statistics)?.[1] ?? 0);
}

async function untilLookedAt(count: number): Promise<void> {
  const looks = await lookCount();
  await waitUntil('looks at the followed contracts', async () => (await lookCount()) >= looks + count);
}

/** A connection of its own to the same database, without emptying it. */
async function connectTestRedisAgain(): Promise<RedisConnection> {
  const config = testConfig(15);
  return connectRedis({ ...config, ...config.redis }, testContext());
}
