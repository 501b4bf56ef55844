import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startKafka } from '../../../deploy/local/infrastructure/kafka.ts';
import type { Environment } from '../../../deploy/local/settings/local-environment.ts';
import type { StartOptions } from '../../../deploy/local/settings/options.ts';
import type { PlannedProcess } from '../../../deploy/local/settings/plan-ports.ts';
import type { Member } from '../../../deploy/local/system/make-fleet.ts';
import type { ReadyLine } from '../../../deploy/local/system/ready-line.ts';
import { startLocalSystem } from '../../../deploy/local/system/start-local-system.ts';
import { loadLocalSystem } from '../../../services/developer-portal/admin/local-system.ts';
import { type OpenSystem, openSystem } from '../../../services/developer-portal/admin/open-system.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { Gateway } from './balance.ts';
import { type ChaosChains, startChaosChains } from './chaos-chains.ts';
import { type CountedLines, countLines } from './count-lines.ts';
import { type Gates, makeGates } from './gates.ts';
import { type ProviderChains, startProviderChains } from './provider-chains.ts';
import { makeRedisPair, type StartedPair } from './redis-pair.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { type Cluster, makeCluster } from './start-cluster.ts';

/** Ports, counted from the base: a normal system needs some 60. */
const CLUSTER_PORTS = [2, 90, 92] as const;
const REDIS_PORT = 4;
const PAIR_PORTS = [94, 95] as const;
const SMALL_DISK_MIB = 512;
const BACK_TIMEOUT_MS = 600_000;
/** A frozen process does not answer. */
const READY_TIMEOUT_MS = 10_000;

/** A module that is loaded into processes before their own code, and its environment. */
export type Preload = {
  readonly file: string;
  /** Process names as in the log: `evaluator-1`; without a number, all processes of a service. */
  readonly into: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** The requirements of a row on its system; rows with equal requirements share one. */
export type Needs = {
  readonly brokers?: 1 | 3;
  readonly smallDisk?: boolean;
  /** A primary and a replica of Redis behind one address. */
  readonly redisPair?: boolean;
  /** Further chains, behind simulated providers. */
  readonly providers?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly preloads?: readonly Preload[];
  /** The heap size of each process of these services. */
  readonly heap?: { readonly mib: number; readonly services: readonly string[] };
};

export type Running = { readonly service: string; readonly pid: number; readonly ops: string | null };

export type ChaosSystem = AsyncDisposable & {
  readonly ready: ReadyLine;
  readonly chain: NonNullable<ReadyLine['chain']>;
  readonly chains: ChaosChains;
  readonly providers: ProviderChains | undefined;
  readonly gateways: readonly Gateway[];
  /** The operator's connections. */
  readonly open: OpenSystem;
  readonly lines: CountedLines;
  readonly gates: Gates;
  readonly cluster: Cluster | undefined;
  readonly disk: SmallDisk | undefined;
  readonly redisPair: StartedPair | undefined;
  readonly logFile: string;
  readonly dataDir: string;
  /** The options and the environment of the start. */
  readonly options: StartOptions;
  readonly environment: Environment;
  readonly running: (service?: string) => Running[];
  readonly signal: (service: string, signal: NodeJS.Signals, which?: number) => number[];
  /** Returns once every process of the start is running and ready again. */
  readonly waitUntilReady: () => Promise<void>;
};

/**
 * Starts a system for faults: two gateways, three evaluators, a result-store, a dispatcher, under
 * the same supervision as `npm start`, in this process, with fault proxies in front of its chains.
 */
export async function startChaosSystem(
  { portBase, quorum }: { readonly portBase: number; readonly quorum: number },
  needs: Needs,
): Promise<ChaosSystem> {
  await using scope = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-chaos-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const { chains, file } = await startChaosChains(scope, `http://127.0.0.1:${portBase + 5}`, quorum);
  const providers = needs.providers ? await startProviderChains(scope) : undefined;
  const chainsFile = join(dir, 'chaos-chains.json');
  writeFileSync(chainsFile, JSON.stringify({ chains: [...file.chains, ...(providers?.entries ?? [])] }));
  const disk = needs.smallDisk ? scope.use(mountSmallDisk(join(dir, 'disk'), SMALL_DISK_MIB)) : undefined;
  const places = CLUSTER_PORTS.map((at) => ({ port: portBase + at, controllerPort: portBase + at + 1 }));
  const cluster = needs.brokers === 3 ? makeCluster(scope, dir, places) : undefined;
  const [first, second] = PAIR_PORTS;
  const redisPair = needs.redisPair
    ? makeRedisPair({ dir, port: portBase + REDIS_PORT, ports: [portBase + first, portBase + second] })
    : undefined;
  const gates = makeGates();
  const logFile = join(tmpdir(), `rolecall-chaos-${process.pid}.log`);
  const lines = countLines(logFile);
  const part = (member: Member): Member => {
    if (member.service === 'redis' && redisPair) return gates.guard(redisPair.part(member));
    if (member.service !== 'kafka') return gates.guard(member);
    if (cluster) return gates.guard(cluster.part(member));
    if (!disk) return gates.guard(member);
    const place = { dir: join(disk.dir, 'kafka'), port: portBase + 2, controllerPort: portBase + 3 };
    return gates.guard({ ...member, start: (hooks) => startKafka({ ...place, ...hooks }) });
  };
  const stop = new AbortController();
  const data = join(dir, 'data');
  const options = { ...SIZE, portBase, data, chains: chainsFile };
  const environment = {
    ...process.env,
    ...USUAL_ENV,
    ...(cluster && { KAFKA_BROKERS: cluster.brokers }),
    ...needs.env,
  };
  const local = await startLocalSystem(options, environment, lines, stop.signal, {
    part,
    environmentOf: (planned) => environmentOf(planned, needs),
  });
  scope.use(local);
  const { ready } = local;
  if (!ready.chain) throw new Error('the chaos harness needs the demo chain');
  const open = scope.use(await openSystem(loadLocalSystem(data).environment));
  const running = (service?: string) =>
    loadLocalSystem(data).processes.filter((p) => service === undefined || p.service === service);
  const countAtStart = running().length;
  scope.defer(() => gates.releaseAll());
  const whole = scope.move();
  return {
    ready,
    chain: ready.chain,
    chains,
    providers,
    gateways: ready.gateways.map((url, i) => ({ url, ops: `http://127.0.0.1:${portBase + 40 + i}` })),
    open,
    lines,
    gates,
    cluster,
    disk,
    redisPair,
    logFile,
    dataDir: data,
    options,
    environment,
    running,
    signal(service, signal, which) {
      const all = running(service).map(({ pid }) => pid);
      const hit = which === undefined ? all : all.slice(which % Math.max(all.length, 1)).slice(0, 1);
      for (const pid of hit) process.kill(pid, signal);
      return hit;
    },
    async waitUntilReady() {
      // One after the other: on a machine that is busy with something else, all are hardly ever
      // ready at one instant.
      const ready = new Set<number>();
      const areAllReady = async () => {
        const all = running();
        const open = all.filter(({ pid }) => !ready.has(pid));
        const answers = await Promise.all(open.map(({ ops }) => ops === null || isReady(ops)));
        for (const [index, { pid }] of open.entries()) if (answers[index]) ready.add(pid);
        return (all.length === countAtStart && all.every(({ pid }) => ready.has(pid))) || undefined;
      };
      await waitUntil('every process to be running and ready', areAllReady, BACK_TIMEOUT_MS);
    },
    [Symbol.asyncDispose]: () => whole.disposeAsync(),
  };
}

const SIZE = {
  once: false,
  demo: false,
  json: true,
  gateways: 2,
  evaluators: 3,
  resultStores: 1,
  dispatchers: 1,
  watchers: 1,
} as const;

/** A delivery that was deferred for the longest time is retried within the drain. */
const USUAL_ENV = {
  WEBHOOK_SCHEDULE_SCALE: '0.04',
  WEBHOOK_CONNECT_TIMEOUT_MS: '1000',
  WEBHOOK_ATTEMPT_TIMEOUT_MS: '5000',
  NODE_OPTIONS: '',
} as const;

const preload = (name: string): string => fileURLToPath(new URL(`../preload/${name}.ts`, import.meta.url));
/** Preloads that do nothing until a row activates them. */
const USUAL_PRELOADS: readonly Preload[] = [
  { file: preload('handler-bug'), into: ['evaluator'] },
  { file: preload('fail-fetch'), into: ['evaluator'] },
  { file: preload('die-after-save'), into: ['evaluator'] },
];

function environmentOf({ service, name }: PlannedProcess, { preloads = [], heap }: Needs): Environment {
  const own = [...USUAL_PRELOADS, ...preloads].filter(
    ({ into }) => into.includes(service) || into.includes(name),
  );
  const options = [
    ...own.map(({ file }) => `--import=${file}`),
    ...(heap?.services.includes(service) ? [`--max-old-space-size=${heap.mib}`] : []),
  ];
  if (options.length === 0) return {};
  return { NODE_OPTIONS: options.join(' '), ...Object.assign({}, ...own.map(({ env }) => env)) };
}

async function isReady(ops: string): Promise<boolean> {
  try {
    const answer = await fetch(`${ops}/readyz`, { signal: AbortSignal.timeout(READY_TIMEOUT_MS) });
    await answer.text();
    return answer.status === 200;
  } catch {
    return false;
  }
}
