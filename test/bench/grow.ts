import { waitUntil } from '../support/wait-until.ts';
import {
  type BenchSystem,
  type BenchSystemOptions,
  PROCESSES,
  startBenchSystem,
  usedBetween,
} from './bench-system.ts';
import { type CompleteOptions, completeChecks, cpuOf, readResults, type Used } from './complete-checks.ts';
import type { Curve, Point } from './curve.ts';
import { inRounds, leastOf } from './least-of.ts';
import { publishRequests } from './publish-requests.ts';
import { makeWorkload, type Workload } from './workload.ts';

export const RPC_LATENCY_MS = 20;
const WARM_UP_COUNT = 3_000;
export const COUNT = 3_000;
const RULES = 3;
export const CPU_LABEL = 'CPU ms of one check, by process';
const FILL_BATCH = 2_000;
const REWRITE_WAIT_MS_MAX = 120_000;
const FILL_TTL_S = 7_200;
/** A filler with the size of a stored result of three rules. */
const FILLER = 'x'.repeat(380);

/** Workload positions that no other measurement of this process uses. */
let lastPlace = 1e7;
export const newPlaces = (count: number): number => {
  lastPlace += count;
  return lastPlace - count;
};

/** CPU ms of one check: in total, and by process. */
export const valuesOf = ({ used, count }: Used): Point['values'] => ({
  all: 1_000 * cpuOf({ used, count }),
  ...Object.fromEntries(PROCESSES.map((name) => [name, (1_000 * used[name]) / count])),
});

/** The cost of one of `count` checks, each of a new account. */
export const measureChecks = async (
  bench: BenchSystem,
  options: Omit<CompleteOptions, 'from'>,
): Promise<Point['values']> => {
  const rounds = await inRounds(() => completeChecks(bench, { ...options, from: newPlaces(options.count) }));
  return valuesOf(leastOf(rounds, cpuOf));
};

export const startWarm = async (
  options: Pick<BenchSystemOptions, 'chainCount'> = {},
): Promise<{ bench: BenchSystem; workload: Workload }> => {
  const bench = await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS, ...options });
  const workload = await makeWorkload(bench.system.chain, RULES);
  await completeChecks(bench, { workload, from: newPlaces(WARM_UP_COUNT), count: WARM_UP_COUNT });
  return { bench, workload };
};

/** The cost of a check by its number of rules. */
export async function growRules(sizes: readonly number[]): Promise<Curve> {
  const started = await startWarm();
  await using bench = started.bench;
  const points: Point[] = [];
  for (const x of sizes) {
    const count = Math.max(500, Math.round(COUNT / Math.sqrt(x)));
    const workload = await makeWorkload(bench.system.chain, x);
    await completeChecks(bench, { workload, from: newPlaces(count), count: count / 4 });
    points.push({ x, values: await measureChecks(bench, { workload, count }) });
  }
  return { title: 'Rules of a check', xLabel: 'rules', yLabel: CPU_LABEL, points };
}

/** The cost of a check by the number of sending client apps. */
export async function growApps(sizes: readonly number[]): Promise<Curve> {
  const { bench: started, workload } = await startWarm();
  await using bench = started;
  const apps = await bench.makeApps(Math.max(...sizes));
  const points: Point[] = [];
  for (const x of sizes) {
    const options = { workload, count: COUNT, apiKeys: apps.slice(0, x) };
    await completeChecks(bench, { ...options, from: newPlaces(COUNT), count: Math.max(x, COUNT / 4) });
    points.push({ x, values: await measureChecks(bench, options) });
  }
  return { title: 'Client apps that send', xLabel: 'client apps', yLabel: CPU_LABEL, points };
}

/** The cost of a check from its partition on, by the number of busy partitions. */
export async function growPartitions(sizes: readonly number[]): Promise<Curve> {
  const { bench: started, workload } = await startWarm();
  await using bench = started;
  const brokers = bench.system.environment()['KAFKA_BROKERS'] ?? '';
  const work = async (x: number, count: number): Promise<Used> => {
    const partitions = Array.from({ length: x }, (_, i) => i);
    const from = newPlaces(count);
    const before = bench.cpuSeconds();
    const ids = await publishRequests({ brokers, workload, from, count, partitions });
    const results = await readResults(bench, ids);
    const used = usedBetween(before, bench.cpuSeconds());
    for (const [place, result] of results.entries()) workload.verify(from + place, result);
    return { used, count };
  };
  await work(24, COUNT);
  const points: Point[] = [];
  for (const x of sizes)
    points.push({ x, values: valuesOf(leastOf(await inRounds(() => work(x, 2 * COUNT)), cpuOf)) });
  const note = 'Published straight into the lane, so the gateway has no part in it.';
  return { title: 'Partitions busy', xLabel: 'partitions of the bulk lane', yLabel: CPU_LABEL, points, note };
}

/** The cost of a check by the number of results in Redis. */
export async function growResults(sizes: readonly number[]): Promise<Curve> {
  const { bench: started, workload } = await startWarm();
  await using bench = started;
  const points: Point[] = [];
  let filled = 0;
  for (const x of sizes) {
    for (; filled < x; filled += FILL_BATCH) {
      const pipeline = bench.open.redis.pipeline();
      for (let i = 0; i < FILL_BATCH; i++)
        pipeline.set(`result:filler-${filled + i}`, FILLER, 'EX', FILL_TTL_S);
      await pipeline.exec();
    }
    await untilSettled(bench);
    points.push({ x, values: await measureChecks(bench, { workload, count: COUNT }) });
  }
  return { title: 'Results stored', xLabel: 'results in Redis', yLabel: CPU_LABEL, points };
}

/** Returns when Redis has rewritten its log: the cost of filling it is not a cost of a check. */
async function untilSettled({ open }: BenchSystem): Promise<void> {
  await waitUntil(
    'Redis to have rewritten its log',
    async () => {
      const facts = await open.redis.info('persistence');
      return /aof_rewrite_in_progress:0/.test(facts) && /aof_rewrite_scheduled:0/.test(facts);
    },
    REWRITE_WAIT_MS_MAX,
  );
}
