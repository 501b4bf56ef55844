import { Contract, JsonRpcProvider } from 'ethers';
import type { DemoChain } from '../../support/builders/demo-rules.ts';
import { quantile } from '../../support/figures/quantile.ts';
import { startBenchSystem } from '../system/bench-system.ts';
import { makeWorkload, type Workload } from '../system/workload.ts';
import type { Goal, Row, Table } from '../table.ts';

const WARM_UP_COUNT = 200;
const COUNT = 500;

/** Measures the latency of a sync check over an idle system, beside calling the chain directly. */
export async function benchLatency(): Promise<Table> {
  await using bench = await startBenchSystem();
  const { chain, client } = bench.system;
  const workload = await makeWorkload(chain, 3);
  const sync = await timesOf(async (index) => {
    const { status, text } = await client.check(workload.checkAt(index));
    if (status !== 200) throw new Error(`a sync check was answered with ${status}`);
    workload.verify(index, text);
  });
  const direct = await timesOf(readDirectly(chain, workload));
  const row = (share: number, goal?: Goal): Row => ({
    what: `sync check of 3 rules over an idle system, p${share * 100}`,
    measured: quantile(sync, share),
    unit: 'ms',
    against: { what: 'ethers, 3 × eth_call', measured: quantile(direct, share) },
    ...(goal && { goal }),
  });
  return {
    title: 'latency: a sync check over an idle system, the chain beside it',
    rows: [row(0.5, { of: 'difference', max: 5 }), row(0.99)],
    notes: [`${COUNT} one after another, after ${WARM_UP_COUNT} to warm up; every account is new.`],
  };
}

/** The same balances by ethers, concurrently and unbatched, because batches would wait 10 ms. */
function readDirectly(chain: DemoChain, workload: Workload): (index: number) => Promise<void> {
  const provider = new JsonRpcProvider(chain.rpc, chain.chainId, {
    batchMaxCount: 1,
    staticNetwork: true,
    cacheTimeout: -1,
  });
  const one = ['function balanceOf(address) view returns (uint256)'];
  const ofId = ['function balanceOf(address, uint256) view returns (uint256)'];
  const erc20 = new Contract(chain.erc20, one, provider).getFunction('balanceOf');
  const erc721 = new Contract(chain.erc721, one, provider).getFunction('balanceOf');
  const erc1155 = new Contract(chain.erc1155, ofId, provider).getFunction('balanceOf');
  return async (index) => {
    const { account } = workload.checkAt(index);
    const balances = await Promise.all([erc20(account), erc721(account), erc1155(account, 7)]);
    if (account === chain.holder && balances[0] !== 1_500_500_000n) throw new Error('a balance is wrong');
  };
}

/** The durations of the runs in ms, sorted. */
async function timesOf(act: (index: number) => Promise<void>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < WARM_UP_COUNT + COUNT; i++) {
    const began = performance.now();
    await act(i);
    if (i >= WARM_UP_COUNT) times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b);
}
