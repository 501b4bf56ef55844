import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { HeapProfiler, Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { serveOnLoopback } from '../../support/fakes/serve-on-loopback.ts';
import { waitUntil } from '../../support/wait-until.ts';
import {
  type BenchSystem,
  type CpuSeconds,
  PROCESSES,
  startBenchSystem,
  usedBetween,
} from '../system/bench-system.ts';
import { completeChecks } from '../system/complete-checks.ts';
import { makeWorkload, newPlaces, type Workload } from '../system/workload.ts';
import type { Table } from '../table.ts';
import { allocations, selfTimes, totalOf } from './summarise-profile.ts';

const PRELOAD = new URL('./profile-preload.ts', import.meta.url).href;
const RPC_LATENCY_MS = 20;
/** The modes in the proportion of the fault matrix: 40 % polled, 40 % by webhook, 20 % sync. */
const MIXED = { poll: 2_400, webhook: 2_400, sync: 1_200 } as const;
const WEBHOOKS = { poll: 0, webhook: 6_000, sync: 0 } as const;
const IDLE_SECONDS = 60;
const WARM_UP_PARTS = 2;
const BEGIN_MS = 500;
const SERVICES = PROCESSES.filter((name) => name !== 'kafka' && name !== 'redis');

const TOP = 10;
const TOP_OF_SERVICE = 6;
const ALLOCATING = ['gateway', 'evaluator'];
const BYTES_PER_KIB = 1_024;

type ServiceProfile = {
  readonly service: string;
  readonly cpu: Profiler.Profile;
  readonly heap: HeapProfiler.SamplingHeapProfile;
};

/** What a system does while it is profiled. */
type Load = {
  readonly work: string;
  readonly unit: string;
  /** Prepares the load; the function that it returns works a share of it and returns how many units
   * that was. */
  readonly prepare: (
    bench: BenchSystem,
    scope: AsyncDisposableStack,
  ) => Promise<(parts: number) => Promise<number>>;
};

const LOADS = {
  // As in the rows of the `checks` part.
  'checks-3': {
    work: 'checks of 3 rules (40 % polled, 40 % by webhook, 20 % sync)',
    unit: 'check',
    prepare: prepareChecks(3, MIXED),
  },
  'checks-20': {
    work: 'checks of 20 rules (40 % polled, 40 % by webhook, 20 % sync)',
    unit: 'check',
    prepare: prepareChecks(20, MIXED),
  },
  webhooks: {
    work: 'checks of 1 rule, each with a webhook',
    unit: 'webhook',
    prepare: prepareChecks(1, WEBHOOKS),
  },
  idle: { work: 'seconds without requests', unit: 'second', prepare: prepareIdle },
} as const satisfies Readonly<Record<string, Load>>;

/**
 * Profiles every process under a load. The shares of the processes come from a round without
 * sampling, the costs from a sampled round after it, which makes each cost higher.
 */
export async function benchProfile(name: keyof typeof LOADS): Promise<Table> {
  const { work, unit } = LOADS[name];
  const { services, used, count } = await profileLoad(LOADS[name]);
  const row = (what: string, ms: number) => ({ what, measured: (1_000 * ms) / count, unit: `µs a ${unit}` });
  const everywhere = services
    .flatMap(({ service, cpu }) =>
      selfTimes(cpu, 'place').map(({ what, amount }) => ({ what: `${service}: ${what}`, amount })),
    )
    .sort((a, b) => b.amount - a.amount);
  return {
    title: `profile: ${count} ${work}, RPC latency ${RPC_LATENCY_MS} ms`,
    rows: [
      ...PROCESSES.map((process) => row(`all of ${process}`, 1_000 * used[process])),
      ...everywhere.slice(0, TOP).map(({ what, amount }) => row(what, amount)),
      ...services.flatMap(({ service, cpu }) =>
        selfTimes(cpu)
          .slice(0, TOP_OF_SERVICE)
          .map(({ what, amount }) => row(`${service}: ${what}`, amount)),
      ),
      ...services
        .filter(({ service }) => ALLOCATING.includes(service))
        .flatMap(({ service, heap }) => {
          const costs = allocations(heap);
          const all = { what: 'everything', amount: totalOf(costs) };
          return [all, ...costs.slice(0, TOP_OF_SERVICE)].map(({ what, amount }) => ({
            what: `allocated by ${service}: ${what}`,
            measured: amount / BYTES_PER_KIB / count,
            unit: `KiB a ${unit}`,
          }));
        }),
    ],
    notes: [
      `Self time by package, file or part of Node (the ${TOP} highest), then by function (the ${TOP_OF_SERVICE} highest of each service).`,
      '`(program)` is native code: sockets, the kernel, TLS, hashing.',
    ],
  };
}

type Profiled = { readonly services: ServiceProfile[]; readonly used: CpuSeconds; readonly count: number };

async function profileLoad(load: Load): Promise<Profiled> {
  await using stack = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-profile-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  const bench = stack.use(
    await startBenchSystem({
      rpcLatencyMs: RPC_LATENCY_MS,
      env: { NODE_OPTIONS: `--import=${PRELOAD}`, BENCH_PROFILE_DIR: dir },
    }),
  );
  const workShare = await load.prepare(bench, stack);
  await workShare(WARM_UP_PARTS);
  // The CPU shares come from a round without profiling.
  const before = bench.cpuSeconds();
  const count = await workShare(1);
  const used = usedBetween(before, bench.cpuSeconds());
  const pids = SERVICES.flatMap((name) => bench.system.pidsOf(name));
  const signal = (): void => {
    for (const pid of pids) process.kill(pid, 'SIGUSR2');
  };
  signal();
  await delay(BEGIN_MS);
  await workShare(1);
  signal();
  await waitUntil('the profiles', () => filesOf(dir, '.done').length === pids.length);
  return { services: SERVICES.map((service) => loadProfile(dir, service)), used, count };
}

function prepareChecks(ruleCount: number, counts: Readonly<Record<Mode, number>>): Load['prepare'] {
  return async (bench, scope) => {
    const receiver = scope.use(await startReceiver());
    const workload = await makeWorkload(bench.system.chain, ruleCount);
    return async (parts) => {
      let sum = 0;
      for (const mode of ['poll', 'webhook', 'sync'] as const) {
        const count = Math.round(counts[mode] / parts);
        if (count > 0) await completeMode(bench, { mode, count, workload }, receiver);
        sum += count;
      }
      return sum;
    };
  };
}

async function prepareIdle(): ReturnType<Load['prepare']> {
  return async (parts) => {
    const seconds = IDLE_SECONDS / parts;
    await delay(seconds * 1_000);
    return seconds;
  };
}

type Mode = 'poll' | 'webhook' | 'sync';
type Receiver = AsyncDisposable & { readonly url: string; readonly arrived: () => number };

type Round = {
  readonly mode: Mode;
  readonly count: number;
  readonly workload: Workload;
};

async function completeMode(
  bench: BenchSystem,
  { mode, count, workload }: Round,
  receiver: Receiver,
): Promise<void> {
  const already = receiver.arrived();
  await completeChecks(bench, {
    workload,
    from: newPlaces(count),
    count,
    mode: mode === 'sync' ? 'sync' : 'poll',
    ...(mode === 'webhook' && { callbackUrl: receiver.url }),
  });
  if (mode === 'webhook')
    await waitUntil('the webhooks', () => receiver.arrived() - already >= count || undefined);
}

async function startReceiver(): Promise<Receiver> {
  let arrived = 0;
  const server = await serveOnLoopback((request, response) => {
    request.resume();
    request.on('end', () => {
      arrived += 1;
      response.writeHead(204).end();
    });
  });
  return {
    url: `${server.url}/hook`,
    arrived: () => arrived,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const filesOf = (dir: string, ending: string): string[] =>
  readdirSync(dir).filter((file) => file.endsWith(ending));

function loadProfile(dir: string, service: string): ServiceProfile {
  const load = (ending: string): unknown => {
    const file = filesOf(dir, ending).find((name) => name.startsWith(`${service}-`));
    if (!file) throw new Error(`${service} wrote no profile`);
    return JSON.parse(readFileSync(join(dir, file), 'utf8'));
  };
  return {
    service,
    cpu: load('.cpu.json') as Profiler.Profile,
    heap: load('.heap.json') as HeapProfiler.SamplingHeapProfile,
  };
}
