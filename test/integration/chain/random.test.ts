import { setTimeout as delay } from 'node:timers/promises';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { deployCode } from '../../support/contracts/hostile-contracts.ts';
import {
  type FaultKind,
  type RpcFaultProxy,
  startRpcFaultProxy,
} from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { infrastructure } from '../../support/infrastructure/infrastructure.ts';
import { makeRandom } from '../../support/random.ts';

// Scenario: thousands of checks on a growing chain, through three endpoints: two fail at random in
// every way, and one always lies. The balance of one token is the number of the block that is read,
// so an answer from any block but the reported one is a wrong verdict.

/** Verdicts of rules: a machine that is busy with something else needs more checks for as many. */
const VERDICTS_MIN = 40_000;
const GRANTED_MIN = 5_000;
const AT_ONCE = 64;
/** After a check that could not be decided, as a client that tries again. */
const RETRY_MS = 100;
/** `balanceOf` and every other function return the block's number. */
const BLOCK_NUMBER_TOKEN = '4360005260206000f3';

const FAULTS: readonly FaultKind[] = [
  'hang',
  'reset',
  'http-429',
  'http-500',
  'http-503',
  'malformed',
  'endless-body',
  'rpc-error',
  'short-batch',
  'wrong-id',
  'stale-head',
  'unknown-block',
  'ignored-pin',
  'no-override',
];

/** The codes that the chain layer reports for these faults. */
const BITES = [
  'timeout',
  'unreachable',
  'rate-limited',
  'http-status',
  'malformed',
  'rpc-error',
  'block-mismatch',
];

const { fraction, below } = makeRandom(20_261_121);
const oneOf = <T>(items: readonly T[]): T => items[below(items.length)] as T;

let proxies: RpcFaultProxy[];
let token: string;
const rpcUrl = () => infrastructure().rpcUrl;

beforeAll(async () => {
  token = await deployCode(rpcUrl(), BLOCK_NUMBER_TOKEN);
  proxies = await Promise.all([0, 1, 2].map(() => startRpcFaultProxy({ target: rpcUrl() })));
  // One in twenty: often enough to meet every fault many times, and rare enough that most checks
  // are decided.
  const flaky = () => (fraction() < 0.05 ? oneOf(FAULTS) : 'none');
  await proxies[0]?.setFault('altered-balance');
  await proxies[1]?.setFault(flaky);
  await proxies[2]?.setFault(flaky);
});
afterAll(async () => {
  for (const proxy of proxies) await proxy[Symbol.asyncDispose]();
});

const aStranger = () => `0x${Array.from({ length: 40 }, () => below(16).toString(16)).join('')}`;

test(`${VERDICTS_MIN} verdicts under faults, and not one is wrong`, async () => {
  // With a quorum the liar is among the endpoints; without one the endpoints fail but never lie.
  const [liar = '', one = '', two = ''] = proxies.map(({ url }) => url);
  await using voting = connectTestChains([{ urls: [liar, one, two], quorum: 2 }], {
    attemptTimeoutMs: 1_000,
  });
  await using alone = connectTestChains([{ urls: [one, two] }], { attemptTimeoutMs: 1_000 });
  const wrong: unknown[] = [];
  const count = { granted: 0, denied: 0 };
  let head = Number(await callJsonRpc(rpcUrl(), 'eth_blockNumber', []));

  /** Whether every rule was decided. */
  async function checkOnce(): Promise<boolean> {
    const isHolder = fraction() < 0.4;
    const near = head + below(7) - 3;
    const minToken = fraction() < 0.5 ? '1500.5' : '1500.500001';
    const id = 1 + below(5);
    const rule = { type: 'ERC721', chainId: 31_337 } as const;
    const result = await oneOf([voting, alone]).judge({
      account: isHolder ? demoTokens.holder : aStranger(),
      clientId: `app_${below(20)}`,
      lane: fraction() < 0.3 ? 'interactive' : 'bulk',
      rules: [
        { ...rule, roleId: 'block', contractAddress: token, minToken: String(near) },
        { ...rule, roleId: 'amount', type: 'ERC20', contractAddress: demoTokens.erc20, minToken },
        { ...rule, roleId: 'owned', contractAddress: demoTokens.erc721, minToken: '1', tokenId: String(id) },
      ],
    });
    const truth: Record<string, boolean> = {
      block: (result.blocks['31337']?.number ?? -1) >= near,
      amount: isHolder && minToken === '1500.5',
      owned: isHolder && id <= 3,
    };
    for (const role of result.roles) {
      if (role.granted !== truth[role.id])
        wrong.push({ ...role, near, id, minToken, isHolder, blocks: result.blocks });
      count[role.granted ? 'granted' : 'denied'] += 1;
    }
    return result.errors.length === 0;
  }

  /** Faults that have not occurred yet. */
  const missing = () => {
    const kinds = new Set([...voting.calls, ...alone.calls].map((call) => call.split('/')[2]));
    return BITES.filter((kind) => !kinds.has(kind));
  };
  const isEnough = () => count.granted + count.denied >= VERDICTS_MIN && count.granted >= GRANTED_MIN;
  const miner = setInterval(() => {
    void callJsonRpc(rpcUrl(), 'anvil_mine', ['0x1']).then(() => {
      head += 1;
    });
  }, 100);
  const worker = async () => {
    while (!isEnough()) if (!(await checkOnce())) await delay(RETRY_MS);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  clearInterval(miner);
  expect(wrong).toEqual([]);
  expect(missing()).toEqual([]);
});
