import { setTimeout as delay } from 'node:timers/promises';
import { type BenchSystem, PROCESSES, startBenchSystem, sumOf } from './bench-system.ts';
import { type Completed, completeChecks } from './complete-checks.ts';
import { cpuSecondsOf } from './cpu-seconds.ts';
import { type Posted, postChecks } from './post-checks.ts';
import { quantile } from './quantile.ts';
import { startChild } from './start-child.ts';
import type { Row, Table } from './table.ts';
import { makeWorkload, type Workload } from './workload.ts';

const RPC_LATENCY_MS = 20;
/** Both sides are warmed by as much: five processes and a JVM compile what they run long after the first thousand. */
const SIZES = [
  { rules: 3, count: 6_000, warmUp: 9_000, min: 2 },
  { rules: 20, count: 1_500, warmUp: 1_500, min: 8 },
] as const;
const PLAIN_KEY = 'rck_of_the_plain_server';
/** Between the sides, so that neither works while the other is measured. */
const REST_MS = 500;

type Side = { readonly perCpuSecond: number; readonly perSecond: number; readonly tookMs: readonly number[] };

/** What a completed check costs all processes together, beside a server that reads each rule by ethers. */
export async function benchChecks(): Promise<Table> {
  await using bench = await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS });
  const rows: Row[] = [];
  const notes: string[] = [];
  for (const { rules, count, warmUp, min } of SIZES) {
    const workload = await makeWorkload(bench.system.chain, rules);
    const plain = await measurePlain(bench, workload, count, warmUp);
    await delay(REST_MS);
    await completeChecks(bench, { workload, from: 1e6, count: warmUp });
    const polled = await completeChecks(bench, { workload, from: 2e6, count });
    await completeChecks(bench, { workload, from: 3e6, count: warmUp / 3, mode: 'sync' });
    const sync = await completeChecks(bench, { workload, from: 4e6, count: count / 2, mode: 'sync' });
    const than = 'Express + ethers';
    rows.push(
      {
        what: `completed checks of ${rules} rules, all processes`,
        measured: perCpuSecondOf(polled),
        unit: '1/CPU s',
        against: { what: than, measured: plain.perCpuSecond },
        goal: { of: 'ratio', min },
      },
      {
        what: `the same, answered at once (sync)`,
        measured: perCpuSecondOf(sync),
        unit: '1/CPU s',
        against: { what: than, measured: plain.perCpuSecond },
      },
      {
        what: `completed checks of ${rules} rules`,
        measured: polled.count / polled.seconds,
        unit: '1/s',
        against: { what: than, measured: plain.perSecond },
      },
      latencyRow(rules, 0.5, sync, plain),
      latencyRow(rules, 0.99, sync, plain),
    );
    notes.push(`${rules} rules, CPU ms per polled check: ${shares(polled)}`);
  }
  return {
    title: `checks: completed, RPC latency ${RPC_LATENCY_MS} ms, 64 connections, one process of each service`,
    rows,
    notes: [
      ...notes,
      'Every result was read and compared with what the chain holds; CPU is of all services, Kafka and Redis.',
      'Express + ethers: one process, ethers as it comes (batches of 100), decimals kept; it stores nothing and proves no block.',
    ],
  };
}

const latencyRow = (rules: number, share: number, sync: Completed, plain: Side): Row => ({
  what: `sync check of ${rules} rules at full load, p${share * 100}`,
  measured: quantile(sync.tookMs, share),
  unit: 'ms',
  against: { what: 'Express + ethers', measured: quantile(plain.tookMs, share) },
});

const perCpuSecondOf = ({ count, used }: Completed): number => count / sumOf(used);

/** What each process took of one check. */
export const shares = ({ used, count }: Completed): string =>
  PROCESSES.map((name) => `${name} ${((1_000 * used[name]) / count).toFixed(2)}`).join(', ');

async function measurePlain(
  { rpc, system }: BenchSystem,
  workload: Workload,
  count: number,
  warmUp: number,
): Promise<Side> {
  await using plain = await startChild('plain-server.ts', [rpc, String(system.chain.chainId), PLAIN_KEY]);
  const post = (from: number, many: number): Promise<Posted> =>
    postChecks({ url: plain.url, apiKeys: [PLAIN_KEY], workload, from, count: many, mode: 'sync' });
  await post(5e6, warmUp);
  const before = cpuSecondsOf([plain.pid]);
  const began = performance.now();
  const { tookMs } = await post(6e6, count);
  return {
    perCpuSecond: count / (cpuSecondsOf([plain.pid]) - before),
    perSecond: count / ((performance.now() - began) / 1_000),
    tookMs,
  };
}
