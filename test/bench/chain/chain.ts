import { Contract, JsonRpcProvider } from 'ethers';
import { createPublicClient, http, parseAbi } from 'viem';
import { demoTokens } from '../../../deploy/local/demo/demo-tokens.ts';
import { startChain } from '../../../deploy/local/infrastructure/chain.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { MULTICALL3_CODE } from '../../support/contracts/multicall3-code.ts';
import { startRpcFaultProxy } from '../../support/fakes/rpc-fault-proxy.ts';
import { connectTestChains } from '../../support/infrastructure/connect-test-chains.ts';
import { cpuMsSince } from '../system/cpu-seconds.ts';
import type { Row, Table } from '../table.ts';
import { atOnce, CHECKS_AT_ONCE, newAccounts, readByRolecall } from './chain-readers.ts';

export const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
const ERC20 = ['function balanceOf(address) view returns (uint256)'] as const;
const CHAIN_ID = 31_337;
/** Balances of one measurement; fewer for one call each, which is slow. */
const BALANCES = 60_000;
const BALANCES_ONE_BY_ONE = 3_000;
/** The balance of the holder, in the ERC20's smallest units. */
const HELD = 1_500_500_000n;
/** CPU time that each reader uses before it is measured: a service runs for long, so code that is
 * still being compiled is not its cost. */
const WARM_UP_CPU_MS = 3_000;
const AT_ONCE = 50;
const BACKLOG = 10_000;
const RPC_LATENCY_MS = 50;
/** Compute units of an `eth_call` in Alchemy's price list, as published in 2026. */
const UNITS_PER_CALL = 26;
const unitsPerMillion = (callsPerThousandChecks: number): number =>
  (callsPerThousandChecks * 1_000 * UNITS_PER_CALL) / 1e6;

type Measured = { readonly perCpuSecond: number; readonly perSecond: number };

/**
 * Measures how many balances are read per second of this process's CPU and of wall time: of new
 * accounts, and of an account with tokens. The reader is warmed up first.
 *
 * @throws Error unless the balances add up to the holder's
 */
async function measure(count: number, work: (accounts: string[]) => Promise<bigint>): Promise<Measured> {
  const coldCpu = process.cpuUsage();
  while (cpuMsSince(coldCpu) < WARM_UP_CPU_MS) await work(newAccounts(count));
  const accounts = [...newAccounts(count - 1), demoTokens.holder.toLowerCase()];
  const startedMs = performance.now();
  const cpuBefore = process.cpuUsage();
  const sum = await work(accounts);
  const [usedCpuMs, usedMs] = [cpuMsSince(cpuBefore), performance.now() - startedMs];
  if (sum !== HELD) throw new Error(`the balances add up to ${sum}, not ${HELD}`);
  return { perCpuSecond: count / (usedCpuMs / 1_000), perSecond: count / (usedMs / 1_000) };
}

async function readByEthers(
  rpc: string,
  token: string,
  accounts: string[],
  batchMaxCount: number,
): Promise<bigint> {
  let sum = 0n;
  const provider = new JsonRpcProvider(rpc, CHAIN_ID, { staticNetwork: true, batchMaxCount });
  const contract = new Contract(token, ERC20, provider);
  const balanceOf = contract.getFunction('balanceOf');
  await atOnce(accounts, batchMaxCount === 1 ? AT_ONCE : 10 * batchMaxCount, async (account) => {
    const balance: bigint = await balanceOf(account);
    sum += balance;
  });
  provider.destroy();
  return sum;
}

/** @param batchSize bytes of calldata in one multicall; viem's default is 1 024, which is 28
 * balances */
async function readByViem(
  rpc: string,
  token: string,
  accounts: string[],
  batchSize?: number,
): Promise<bigint> {
  let sum = 0n;
  const client = createPublicClient({ transport: http(rpc) });
  const abi = parseAbi(ERC20);
  const parts: string[][] = [];
  for (let from = 0; from < accounts.length; from += 1_000) parts.push(accounts.slice(from, from + 1_000));
  await atOnce(parts, 4, async (part) => {
    const balances = await client.multicall({
      allowFailure: false,
      multicallAddress: MULTICALL3,
      ...(batchSize === undefined ? {} : { batchSize }),
      contracts: part.map((account) => ({
        address: token as `0x${string}`,
        abi,
        functionName: 'balanceOf' as const,
        args: [account as `0x${string}`] as const,
      })),
    });
    for (const balance of balances) sum += balance;
  });
  return sum;
}

/** viem's multicall of 100 balances, over a chain that has Multicall3. */
export const measureViem = (rpc: string, token: string): Promise<Measured> =>
  measure(BALANCES / 2, (accounts) => readByViem(rpc, token, accounts, 100 * 36));

/** RPC calls of a backlog of checks with three rules each, behind an endpoint that takes 50 ms. */
async function callsPerThousandChecks(rpc: string, token: string): Promise<number> {
  await using proxy = await startRpcFaultProxy({ target: rpc });
  await proxy.setFault({ kind: 'none', delayMs: RPC_LATENCY_MS });
  await using chains = connectTestChains([{ urls: [proxy.url] }], { attemptTimeoutMs: 5_000 });
  const rule = { type: 'ERC20', chainId: CHAIN_ID, minToken: '1', contractAddress: token } as const;
  await atOnce(newAccounts(BACKLOG), CHECKS_AT_ONCE, async (account) => {
    const { roles } = await chains.judge({
      account,
      rules: [
        { ...rule, roleId: 'amount' },
        { ...rule, type: 'ERC721', roleId: 'count' },
        { type: 'NATIVE', chainId: CHAIN_ID, minToken: '1', roleId: 'native' },
      ],
    });
    if (roles.length !== 3 || roles.some(({ granted }) => granted)) throw new Error('a verdict is wrong');
  });
  return proxy.calls.requestCount / (BACKLOG / 1_000);
}

/** Reads balances of one token by today's common methods, over the same chain in the same run. */
export async function benchChain(): Promise<Table> {
  const [port = 0] = await findFreePorts(1);
  await using chain = await startChain({ port });
  await callJsonRpc(chain.rpc, 'anvil_setCode', [MULTICALL3, MULTICALL3_CODE]);
  const token = chain.erc20.toLowerCase();
  await using chains = connectTestChains([{ urls: [chain.rpc] }], { attemptTimeoutMs: 10_000 });
  const ours = (count: number, perCheck: number) =>
    measure(count, (accounts) => readByRolecall(chains, token, accounts, perCheck));
  const theirs = {
    oneByOne: await measure(BALANCES_ONE_BY_ONE, (accounts) => readByEthers(chain.rpc, token, accounts, 1)),
    batching: await measure(BALANCES_ONE_BY_ONE * 2, (accounts) =>
      readByEthers(chain.rpc, token, accounts, 100),
    ),
    viemDefault: await measure(BALANCES / 4, (accounts) => readByViem(chain.rpc, token, accounts)),
    viem100: await measureViem(chain.rpc, token),
  };
  const small = await ours(1_000, 3);
  const three = await ours(BALANCES, 3);
  const hundred = await ours(100_000, 100);
  const calls = await measure(100_000, (accounts) => readByRolecall(chains, token, accounts, 100, 'call'));
  const viemBest =
    theirs.viem100.perCpuSecond > theirs.viemDefault.perCpuSecond ? theirs.viem100 : theirs.viemDefault;
  const callsPerThousand = await callsPerThousandChecks(chain.rpc, token);
  const row = (what: string, own: Measured, than: string, other: Measured, min?: number): Row => ({
    what: `balances, ${what}`,
    measured: own.perCpuSecond,
    unit: '1/CPU s',
    against: { what: than, measured: other.perCpuSecond },
    ...(min === undefined ? {} : { goal: { of: 'ratio', min } }),
  });
  return {
    title: 'chain: reading balances of one ERC20 from a loopback chain',
    rows: [
      row('checks of 3', three, 'ethers, one call each', theirs.oneByOne, 50),
      row('checks of 3', three, 'ethers, batches of 100', theirs.batching),
      row('checks of 3', three, 'viem multicall, default', theirs.viemDefault),
      row('checks of 3', three, 'viem multicall, 100 a batch', theirs.viem100, 5),
      row('checks of 100', hundred, 'ethers, one call each', theirs.oneByOne, 100),
      row('checks of 100', hundred, "viem's best", viemBest, 10),
      {
        what: 'a `CONTRACT` read, checks of 100',
        measured: 1e6 / calls.perCpuSecond,
        unit: 'µs CPU',
        against: { what: 'the same balance by an ERC20 rule', measured: 1e6 / hundred.perCpuSecond },
        goal: { of: 'ratio', max: 1.5 },
      },
      row('only 1 000, checks of 3', small, 'ethers, one call each', theirs.oneByOne),
      {
        what: 'balances, checks of 3',
        measured: three.perSecond,
        unit: '1/s',
        against: { what: "viem's best", measured: viemBest.perSecond },
      },
      {
        what: 'RPC calls, 1 000 checks of 3 rules',
        measured: callsPerThousand,
        unit: 'calls',
        against: { what: 'one call per rule', measured: 3_000 },
        goal: { of: 'value', max: 4 },
      },
      {
        what: 'provider units, 1 000 000 checks of 3 rules',
        measured: unitsPerMillion(callsPerThousand),
        unit: 'million',
        against: { what: 'one call per rule', measured: unitsPerMillion(3_000) },
      },
    ],
    notes: [
      `CPU of the client process alone; ${BALANCES} balances a run, ${BALANCES_ONE_BY_ONE} one by one; every account is new.`,
      `Each reader uses ${WARM_UP_CPU_MS / 1_000} CPU seconds before it is measured.`,
      `Provider units: computed; each RPC call as the ${UNITS_PER_CALL} compute units of an eth_call in Alchemy's list of 2026 (other methods here cost less).`,
      `RPC calls: backlog of ${BACKLOG}, ${CHECKS_AT_ONCE} checks at once, an endpoint that takes ${RPC_LATENCY_MS} ms.`,
    ],
  };
}
