import { WATCHES_PATH } from '#shared/contracts/paths.ts';
import { MEMBER_CHANGES_MAX } from '#shared/contracts/watches/watch.ts';
import { waitUntil } from '../support/wait-until.ts';
import {
  type BenchSystem,
  type BenchSystemOptions,
  chainIdsOf,
  PROCESSES,
  startBenchSystem,
} from './system/bench-system.ts';
import { type CompleteOptions, completeChecks, cpuOf, type Used } from './system/complete-checks.ts';
import { inRounds, leastOf } from './system/least-of.ts';
import { makeWorkload, newPlaces, type SentWorkload, type Workload } from './system/workload.ts';
import type { Row, Table } from './table.ts';
import { anAccount, memberBytesOf, putWatch, startReceiver, sweepOnce } from './watches/sweep-members.ts';

const RPC_LATENCY_MS = 20;
const WARM_UP_COUNT = 3_000;
const COUNT = 3_000;
const RULES = [1, 10, 100] as const;
const APPS = [1, 1_000] as const;
const CHAINS = [1, 10] as const;
const MEMBERS = [1_000, 100_000] as const;
const RESULTS = [10_000, 1_000_000] as const;
/** A filler with the size of a stored result of three rules. */
const FILLER = 'x'.repeat(380);
const FILL_BATCH = 2_000;
const FILL_TTL_S = 7_200;
const WAIT_MS_MAX = 600_000;
/** The spread of repeated measurements on a quiet machine. */
const FLAT = 1.2;

/** The cost of one unit at a size, over all processes and by process. */
type Point = { readonly size: number; readonly used: Used };

/** How the cost of a check grows with rules, client apps, stored results and chains, and that of a
 * member in a sweep. */
export async function benchGrowth(): Promise<Table> {
  const rules = await growRules();
  const apps = await growApps();
  const results = await growResults();
  const chains = await growChains();
  const members = await growMembers();
  return {
    title: `growth: CPU of all processes, RPC latency ${RPC_LATENCY_MS} ms`,
    rows: [
      ...rowsOf('check', 'rules', rules, 100),
      ...rowsOf('check', 'client apps', apps, FLAT),
      ...rowsOf('check', 'results in Redis', results, FLAT),
      ...rowsOf('check', 'chains of three endpoints', chains, FLAT),
      ...rowsOf('member in a sweep', 'members', members.points, FLAT),
    ],
    notes: [
      `sub-linear in rules: less than 100 × for 100 ×; flat in the others: at most ${FLAT} ×`,
      `CPU ms of a check with ${RESULTS.at(-1)} results in Redis: ${sharesOf(results.at(-1))}`,
      `CPU ms of a member of ${MEMBERS.at(-1)}: ${sharesOf(members.points.at(-1))}; ${members.note}`,
    ],
  };
}

const cpuMsOf = ({ used }: Point): number => 1_000 * cpuOf(used);

const sharesOf = (point: Point | undefined): string =>
  PROCESSES.map((name) => {
    const ms = point ? (1_000 * point.used.used[name]) / point.used.count : Number.NaN;
    return `${name} ${ms.toFixed(4)}`;
  }).join(', ');

/** Each further size beside the first; the last one has the goal. */
function rowsOf(unit: string, what: string, points: readonly Point[], max: number): Row[] {
  const [first, ...further] = points;
  if (!first) return [];
  return further.map((point) => ({
    what: `CPU per ${unit}, ${point.size} ${what}`,
    measured: cpuMsOf(point),
    unit: 'ms',
    against: { what: String(first.size), measured: cpuMsOf(first) },
    ...(point === points.at(-1) && { goal: { of: 'ratio' as const, max } }),
  }));
}

async function startWarm(
  options: Pick<BenchSystemOptions, 'chainCount'> = {},
): Promise<{ bench: BenchSystem; workload: Workload }> {
  const bench = await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS, ...options });
  const workload = await makeWorkload(bench.system.chain, 3);
  await completeChecks(bench, { workload, from: newPlaces(WARM_UP_COUNT), count: WARM_UP_COUNT });
  return { bench, workload };
}

/** The cost of `count` checks, each of a new account, after a shorter round that warms up what the
 * size changes. */
async function measure(bench: BenchSystem, options: Omit<CompleteOptions, 'from'>): Promise<Used> {
  const warmUp = Math.max(options.apiKeys?.length ?? 0, Math.ceil(options.count / 4));
  await completeChecks(bench, { ...options, from: newPlaces(warmUp), count: warmUp });
  const { count } = options;
  return leastOf(await inRounds(() => completeChecks(bench, { ...options, from: newPlaces(count) })), cpuOf);
}

async function growRules(): Promise<Point[]> {
  await using bench = (await startWarm()).bench;
  const points: Point[] = [];
  for (const size of RULES) {
    const count = Math.max(500, Math.round(COUNT / Math.sqrt(size)));
    const workload = await makeWorkload(bench.system.chain, size);
    points.push({ size, used: await measure(bench, { workload, count }) });
  }
  return points;
}

async function growApps(): Promise<Point[]> {
  const { bench: started, workload } = await startWarm();
  await using bench = started;
  const apps = await bench.makeApps(Math.max(...APPS));
  const points: Point[] = [];
  for (const size of APPS)
    points.push({
      size,
      used: await measure(bench, { workload, count: COUNT, apiKeys: apps.slice(0, size) }),
    });
  return points;
}

async function growResults(): Promise<Point[]> {
  const { bench: started, workload } = await startWarm();
  await using bench = started;
  const { redis } = bench.open;
  const points: Point[] = [];
  let filled = 0;
  for (const size of RESULTS) {
    for (; filled < size; filled += FILL_BATCH) {
      const pipeline = redis.pipeline();
      for (let i = 0; i < FILL_BATCH; i++)
        pipeline.set(`result:filler-${filled + i}`, FILLER, 'EX', FILL_TTL_S);
      await pipeline.exec();
    }
    // The cost of filling it is not a cost of a check.
    await waitUntil(
      'Redis to have rewritten its log',
      async () => {
        const facts = await redis.info('persistence');
        return /aof_rewrite_in_progress:0/.test(facts) && /aof_rewrite_scheduled:0/.test(facts);
      },
      WAIT_MS_MAX,
    );
    points.push({ size, used: await measure(bench, { workload, count: COUNT }) });
  }
  return points;
}

/** By the number of chains among which the checks are divided; all are configured at every size. */
async function growChains(): Promise<Point[]> {
  const { bench: started, workload } = await startWarm({ chainCount: Math.max(...CHAINS) });
  await using bench = started;
  const points: Point[] = [];
  for (const size of CHAINS)
    points.push({ size, used: await measure(bench, { workload: onChains(workload, size), count: COUNT }) });
  return points;
}

/** The same checks, each on one chain. */
function onChains({ checkAt, verify }: Workload, count: number): SentWorkload {
  const chainIds = chainIdsOf(count);
  return {
    verify,
    checkAt(index) {
      const { account, rules } = checkAt(index);
      const chainId = chainIds[index % count];
      return { account, rules: rules.map((rule) => ({ ...rule, chainId })) };
    },
  };
}

async function growMembers(): Promise<{ readonly points: Point[]; readonly note: string }> {
  await using stack = new AsyncDisposableStack();
  const receiver = stack.use(await startReceiver());
  const bench = stack.use(await startBenchSystem({ rpcLatencyMs: RPC_LATENCY_MS }));
  const { client } = bench.system;
  await putWatch(bench, receiver);
  const points: Point[] = [];
  let added = 0;
  let note = '';
  for (const size of MEMBERS) {
    while (added < size) {
      const count = Math.min(MEMBER_CHANGES_MAX, size - added);
      const add = Array.from({ length: count }, anAccount);
      await client.mustSend('POST', `${WATCHES_PATH}/bench/members`, { add });
      added += count;
    }
    await waitUntil('the first event of every member', () => receiver.firsts() >= added, WAIT_MS_MAX);
    const sweeps = await inRounds(() => sweepOnce(bench, receiver));
    const { used, calls, seconds } = leastOf(sweeps, ({ cpuSeconds }) => cpuSeconds);
    points.push({ size, used: { used, count: size } });
    const bytes = Math.round((await memberBytesOf(bench)) / size);
    note = `${bytes} bytes of Redis and ${(calls / size).toFixed(4)} RPC calls a member, ${seconds.toFixed(1)} s`;
  }
  return { points, note };
}
