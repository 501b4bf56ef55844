import { setTimeout as delay } from 'node:timers/promises';
import { quantile } from '../../support/figures/quantile.ts';
import { type BenchSystem, PROCESSES, startBenchSystem } from '../system/bench-system.ts';
import { type Completed, completeChecks, cpuOf } from '../system/complete-checks.ts';
import { cpuSecondsOf } from '../system/cpu-seconds.ts';

import { inRounds, leastOf } from '../system/least-of.ts';
import { postChecks } from '../system/post-checks.ts';
import { startChild } from '../system/start-child.ts';
import { makeWorkload, newPlaces, type Workload } from '../system/workload.ts';
import type { Row, Table } from '../table.ts';
import { besideQueue } from './queue-peer.ts';

const RPC_LATENCY_MS = 20;
type Size = {
  readonly rules: number;
  readonly count: number;
  readonly warmUp: number;
  /** The least ratios to the plain server. */
  readonly goals: { readonly perCpu: number; readonly sync?: number; readonly perSecond?: number };
};
/** Both sides warm up with this many checks: five processes and a JVM compile code long after the
 * first thousand. */
const SIZES: readonly Size[] = [
  { rules: 3, count: 6_000, warmUp: 9_000, goals: { perCpu: 1.2, sync: 0.8, perSecond: 3 } },
  { rules: 20, count: 1_500, warmUp: 1_500, goals: { perCpu: 5, sync: 4 } },
];
export const PLAIN_KEY = 'rck_of_the_plain_server';
/** The pause between the sides, so that neither works while the other is measured. */
const REST_MS = 500;

type Side = { readonly perCpuSecond: number; readonly perSecond: number; readonly tookMs: readonly number[] };

/** Measures the cost of a completed check over all processes, beside a server that reads each rule
 * with ethers. */
export async function benchChecks(): Promise<Table> {
  await using bench = await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS });
  const rows: Row[] = [];
  const notes: string[] = [];
  for (const { rules, count, warmUp, goals } of SIZES) {
    const workload = await makeWorkload(bench.system.chain, rules);
    const { plain, polled, sync } = await measureInTurn(bench, workload, { count, warmUp });
    const than = 'Express + ethers';
    rows.push(
      {
        what: `completed checks of ${rules} rules, all processes`,
        measured: perCpuSecondOf(polled),
        unit: '1/CPU s',
        against: { what: than, measured: plain.perCpuSecond },
        ...ratioGoal(goals.perCpu),
      },
      {
        what: `the same, answered at once (sync)`,
        measured: perCpuSecondOf(sync),
        unit: '1/CPU s',
        against: { what: than, measured: plain.perCpuSecond },
        ...ratioGoal(goals.sync),
      },
      {
        what: `completed checks of ${rules} rules`,
        measured: polled.count / polled.seconds,
        unit: '1/s',
        against: { what: than, measured: plain.perSecond },
        ...ratioGoal(goals.perSecond),
      },
      latencyRow(rules, 0.5, sync, plain),
      latencyRow(rules, 0.99, sync, plain),
    );
    notes.push(`${rules} rules, CPU ms per polled check: ${shares(polled)}`);
  }
  rows.push(...(await besideQueue(bench)));
  return {
    title: `checks: completed, RPC latency ${RPC_LATENCY_MS} ms, 64 connections, one process of each service`,
    rows,
    notes: [
      ...notes,
      'Every result was read and compared with the chain; CPU is of all services, Kafka and Redis.',
      'Three rounds in which both sides are measured; the cheapest round of each counts.',
      'Express + BullMQ: a server, a worker with 64 jobs at once and a Redis with appendfsync everysec, which may lose a second; it validates nothing, has no limits and proves no block.',
      'Express + ethers: one process, ethers as it comes (batches of 100), decimals kept; it stores nothing and proves no block.',
    ],
  };
}

const ratioGoal = (min: number | undefined): Pick<Row, 'goal'> =>
  min === undefined ? {} : { goal: { of: 'ratio', min } };

const latencyRow = (rules: number, share: number, sync: Completed, plain: Side): Row => ({
  what: `sync check of ${rules} rules at full load, p${share * 100}`,
  measured: quantile(sync.tookMs, share),
  unit: 'ms',
  against: { what: 'Express + ethers', measured: quantile(plain.tookMs, share) },
});

const perCpuSecondOf = (completed: Completed): number => 1 / cpuOf(completed);

/** The cost of one check, by process. */
const shares = ({ used, count }: Completed): string =>
  PROCESSES.map((name) => `${name} ${((1_000 * used[name]) / count).toFixed(2)}`).join(', ');

/** Measures both sides in the same rounds, after both are warm, and returns the cheapest round of
 * each. */
async function measureInTurn(
  bench: BenchSystem,
  workload: Workload,
  { count, warmUp }: { readonly count: number; readonly warmUp: number },
): Promise<{ plain: Side; polled: Completed; sync: Completed }> {
  const { chainId } = bench.system.chain;
  await using server = await startChild('checks/plain-server.ts', [bench.rpc, String(chainId), PLAIN_KEY]);
  const polled = (many: number) => completeChecks(bench, { workload, from: newPlaces(many), count: many });
  const sync = (many: number) =>
    completeChecks(bench, { workload, from: newPlaces(many), count: many, mode: 'sync' });
  await measurePlain(server, workload, warmUp);
  await polled(warmUp);
  await sync(warmUp / 3);
  const rounds = await inRounds(async () => {
    await delay(REST_MS);
    const plain = await measurePlain(server, workload, count);
    await delay(REST_MS);
    return { plain, polled: await polled(count), sync: await sync(count / 2) };
  });
  return {
    plain: leastOf(rounds, ({ plain }) => 1 / plain.perCpuSecond).plain,
    polled: leastOf(rounds, (round) => cpuOf(round.polled)).polled,
    sync: leastOf(rounds, (round) => cpuOf(round.sync)).sync,
  };
}

/** Measures the cost of a check at the Express + ethers server. */
export async function measurePlain(
  { url, pid }: { readonly url: string; readonly pid: number },
  workload: Workload,
  count: number,
): Promise<Side> {
  const before = cpuSecondsOf([pid]);
  const began = performance.now();
  const own = { url, apiKeys: [PLAIN_KEY], workload };
  const { tookMs } = await postChecks({ ...own, from: newPlaces(count), count, mode: 'sync' });
  return {
    perCpuSecond: count / (cpuSecondsOf([pid]) - before),
    perSecond: count / ((performance.now() - began) / 1_000),
    tookMs,
  };
}
