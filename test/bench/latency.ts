import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Contract, JsonRpcProvider } from 'ethers';
import { Pool } from 'undici';
import { checkCompleted } from '#shared/contracts/check-completed.ts';
import { checkRequestedBulk } from '#shared/contracts/check-requested.ts';
import { type OpenSystem, openSystem } from '../../services/developer-portal/admin/open-system.ts';
import { type DemoChain, demoRules } from '../support/demo-rules.ts';
import { type StartedSystem, startSystem } from '../support/start-system.ts';
import { waitUntilWorked } from '../support/topic-work.ts';
import { cpuSecondsOf } from './cpu-seconds.ts';
import type { Row, Table } from './table.ts';

const WARM_UP_COUNT = 100;
const SYNC_COUNT = 300;
const BURST_COUNT = 6_000;
const CONNECTIONS = 32;

/**
 * The first table: latency of a sync check over an idle system, throughput of the whole system, and what the
 * gateway costs, each beside the plainest thing that does the like.
 */
export async function benchSystem(): Promise<Table> {
  await using system = await startSystem({ env: { LOG_LEVEL: 'warn' } });
  await using open = await openSystem(system.environment());
  const rows = [
    ...(await measureLatency(system)),
    ...(await measureThroughput(system, open)),
    await measureGateway(system, open),
  ];
  return {
    title: 'Rolecall as a whole, one process of each service, demo chain',
    rows,
    notes: [
      `${SYNC_COUNT} sync checks of 3 rules one after another, after ${WARM_UP_COUNT} to warm up`,
      `${BURST_COUNT} polled checks of 3 rules over ${CONNECTIONS} connections, until the last is stored`,
      'CPU: user and system time of all services, Kafka and Redis; neither the chain nor the load generator',
    ],
  };
}

const rulesOf = (chain: DemoChain) => {
  const { erc20, erc721, erc1155 } = demoRules(chain);
  return [erc20({ minToken: '1500.5' }), erc721(), erc1155({ tokenId: '7', minToken: '10' })];
};

async function measureLatency({ client, chain }: StartedSystem): Promise<Row[]> {
  const check = { account: chain.holder, rules: rulesOf(chain) };
  const sync = await timesOf(async () => {
    const { status } = await client.check(check);
    if (status !== 200) throw new Error(`a sync check was answered with ${status}`);
  });
  // Without batches, for which ethers would wait 10 ms.
  const provider = new JsonRpcProvider(chain.rpc, chain.chainId, {
    batchMaxCount: 1,
    staticNetwork: true,
    cacheTimeout: -1,
  });
  const balanceOf = ['function balanceOf(address) view returns (uint256)'];
  const [erc20, erc721] = [chain.erc20, chain.erc721].map(
    (address) => new Contract(address, balanceOf, provider),
  );
  const balanceOfId = ['function balanceOf(address, uint256) view returns (uint256)'];
  const erc1155 = new Contract(chain.erc1155, balanceOfId, provider);
  const direct = await timesOf(() =>
    Promise.all([
      erc20?.['balanceOf']?.(chain.holder),
      erc721?.['balanceOf']?.(chain.holder),
      erc1155['balanceOf']?.(chain.holder, 7),
    ]),
  );
  provider.destroy();
  const row = (share: number, goal: string): Row => ({
    what: `sync check, p${share * 100}`,
    measured: quantile(sync, share),
    unit: 'ms',
    against: { what: 'ethers, eth_call', measured: quantile(direct, share) },
    goal,
  });
  return [row(0.5, '≤ + 8 ms'), row(0.99, '')];
}

async function measureThroughput(system: StartedSystem, open: OpenSystem): Promise<Row[]> {
  const services = ['gateway', 'evaluator', 'result-store', 'webhook-dispatcher', 'kafka', 'redis'];
  const pids = services.flatMap(system.pidsOf);
  const cpuBefore = cpuSecondsOf(pids);
  const began = performance.now();
  await burst(system.ready.gateways[0] ?? '', system);
  await waitUntilStored(open);
  const seconds = (performance.now() - began) / 1000;
  const cpuSeconds = cpuSecondsOf(pids) - cpuBefore;
  return [
    { what: 'completed checks', measured: BURST_COUNT / seconds, unit: '1/s' },
    { what: 'completed checks, all processes', measured: BURST_COUNT / cpuSeconds, unit: '1/CPU s' },
  ];
}

async function measureGateway(system: StartedSystem, open: OpenSystem): Promise<Row> {
  const bare = fork(fileURLToPath(new URL('./bare-express.ts', import.meta.url)));
  try {
    const [port] = (await once(bare, 'message')) as [number];
    await burst(`http://127.0.0.1:${port}`, system);
    const ofBare = await perCpuSecond(`http://127.0.0.1:${port}`, [pidOf(bare)], system);
    const ofGateway = await perCpuSecond(system.ready.gateways[0] ?? '', system.pidsOf('gateway'), system);
    await waitUntilStored(open);
    return {
      what: 'accepted checks, gateway',
      measured: ofGateway,
      unit: '1/CPU s',
      against: { what: 'bare Express', measured: ofBare },
      goal: '≥ 0.5 ×',
    };
  } finally {
    bare.kill('SIGKILL');
  }
}

const pidOf = ({ pid }: ChildProcess): number => pid ?? 0;

async function perCpuSecond(url: string, pids: readonly number[], system: StartedSystem): Promise<number> {
  const before = cpuSecondsOf(pids);
  await burst(url, system);
  return BURST_COUNT / (cpuSecondsOf(pids) - before);
}

/** Posts polled checks as fast as the connections allow; each must be answered with 202. */
async function burst(url: string, { chain, ready }: StartedSystem): Promise<void> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const body = JSON.stringify({ account: chain.holder, rules: rulesOf(chain), async: true });
  const headers = { 'x-api-key': ready.app.apiKey, 'content-type': 'application/json' };
  let left = BURST_COUNT;
  const post = async (): Promise<void> => {
    while (left-- > 0) {
      const answer = await pool.request({
        method: 'POST',
        path: '/access-control/check-roles',
        headers,
        body,
      });
      await answer.body.dump();
      if (answer.statusCode !== 202) throw new Error(`a check was answered with ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, post)).finally(() => pool.close());
}

async function waitUntilStored(open: OpenSystem): Promise<void> {
  await waitUntilWorked(open, 'evaluator.bulk', checkRequestedBulk.name);
  await waitUntilWorked(open, 'result-store', checkCompleted.name);
}

/** Milliseconds of each of the runs, in order of size. */
async function timesOf(act: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < WARM_UP_COUNT + SYNC_COUNT; i++) {
    const began = performance.now();
    await act();
    if (i >= WARM_UP_COUNT) times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b);
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
