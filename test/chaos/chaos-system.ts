import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startKafka } from '../../deploy/local/kafka.ts';
import type { Environment } from '../../deploy/local/local-environment.ts';
import type { Member } from '../../deploy/local/make-fleet.ts';
import type { PlannedProcess } from '../../deploy/local/plan-ports.ts';
import type { ReadyLine } from '../../deploy/local/ready-line.ts';
import { startLocalSystem } from '../../deploy/local/start-local-system.ts';
import { loadLocalSystem } from '../../services/developer-portal/admin/local-system.ts';
import { type OpenSystem, openSystem } from '../../services/developer-portal/admin/open-system.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { Gateway } from './parts/balance.ts';
import { type ChaosChains, startChaosChains } from './parts/chaos-chains.ts';
import { type CountedLines, countLines } from './parts/count-lines.ts';
import { type Gates, makeGates } from './parts/gates.ts';
import { mountSmallDisk, type SmallDisk } from './parts/small-disk.ts';
import { type Cluster, makeCluster } from './parts/start-cluster.ts';

/** Ports, counted from the base: a system of its own size needs some 60. */
const CLUSTER_PORTS = [2, 90, 92] as const;
const SMALL_DISK_MIB = 512;
const BACK_TIMEOUT_MS = 60_000;

/** A module that is loaded into processes before their own code, and what it is told. */
export type Preload = {
  readonly file: string;
  /** Names as in the log: `evaluator-1`; without a number, all of a service. */
  readonly into: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

/** What a row of the matrix needs of its system; rows of equal needs share one. */
export type Needs = {
  readonly brokers?: 1 | 3;
  readonly smallDisk?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly preloads?: readonly Preload[];
};

export type Running = { readonly service: string; readonly pid: number; readonly ops: string | null };

export type ChaosSystem = AsyncDisposable & {
  readonly ready: ReadyLine;
  readonly chain: NonNullable<ReadyLine['chain']>;
  readonly chains: ChaosChains;
  readonly gateways: readonly Gateway[];
  /** The operator's way in. */
  readonly open: OpenSystem;
  readonly lines: CountedLines;
  readonly gates: Gates;
  readonly cluster: Cluster | undefined;
  readonly disk: SmallDisk | undefined;
  readonly logFile: string;
  readonly dataDir: string;
  readonly running: (service?: string) => Running[];
  readonly signal: (service: string, signal: NodeJS.Signals, which?: number) => number[];
  /** Returns once everything that ran at the start runs and is ready. */
  readonly untilWhole: () => Promise<void>;
};

/**
 * Starts a system to do harm to: two gateways, three evaluators, a result-store, a dispatcher, under the same
 * supervision as `npm start`, in this process, with fault proxies before its chains.
 */
export async function startChaosSystem(portBase: number, needs: Needs): Promise<ChaosSystem> {
  await using scope = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-chaos-'));
  scope.defer(() => rmSync(dir, { recursive: true, force: true }));
  const { chains, file } = await startChaosChains(scope, `http://127.0.0.1:${portBase + 5}`);
  const chainsFile = join(dir, 'chaos-chains.json');
  writeFileSync(chainsFile, JSON.stringify(file));
  const disk = needs.smallDisk ? scope.use(mountSmallDisk(join(dir, 'disk'), SMALL_DISK_MIB)) : undefined;
  const places = CLUSTER_PORTS.map((at) => ({ port: portBase + at, controllerPort: portBase + at + 1 }));
  const cluster = needs.brokers === 3 ? makeCluster(scope, dir, places) : undefined;
  const gates = makeGates();
  const logFile = join(tmpdir(), `rolecall-chaos-${process.pid}.log`);
  const lines = countLines(logFile);
  const part = (member: Member): Member => {
    if (member.service !== 'kafka') return gates.guard(member);
    if (cluster) return gates.guard(cluster.part(member));
    if (!disk) return gates.guard(member);
    const place = { dir: join(disk.dir, 'kafka'), port: portBase + 2, controllerPort: portBase + 3 };
    return gates.guard({ ...member, start: (hooks) => startKafka({ ...place, ...hooks }) });
  };
  const stop = new AbortController();
  const local = await startLocalSystem(
    { ...SIZE, portBase, data: join(dir, 'data'), chains: chainsFile },
    { ...process.env, ...USUAL_ENV, ...(cluster && { KAFKA_BROKERS: cluster.brokers }), ...needs.env },
    lines,
    stop.signal,
    {
      part,
      environmentOf: (planned) => preloadEnvironment(planned, [...USUAL_PRELOADS, ...(needs.preloads ?? [])]),
    },
  );
  scope.use(local);
  const data = join(dir, 'data');
  const { ready } = local;
  if (!ready.chain) throw new Error('the harness needs the demo chain');
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
    gateways: ready.gateways.map((url, i) => ({ url, ops: `http://127.0.0.1:${portBase + 40 + i}` })),
    open,
    lines,
    gates,
    cluster,
    disk,
    logFile,
    dataDir: data,
    running,
    signal(service, signal, which) {
      const all = running(service).map(({ pid }) => pid);
      const hit = which === undefined ? all : all.slice(which % Math.max(all.length, 1)).slice(0, 1);
      for (const pid of hit) process.kill(pid, signal);
      return hit;
    },
    untilWhole: () =>
      waitUntil(
        'the system to be whole',
        async () => {
          const all = running();
          const ready = await Promise.all(all.map(({ ops }) => ops === null || isReady(ops)));
          return (all.length === countAtStart && ready.every(Boolean)) || undefined;
        },
        BACK_TIMEOUT_MS,
      ).then(() => undefined),
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

/** A delivery that was put off comes again within the drain. */
const USUAL_ENV = {
  WEBHOOK_SCHEDULE_SCALE: '0.1',
  WEBHOOK_CONNECT_TIMEOUT_MS: '1000',
  WEBHOOK_ATTEMPT_TIMEOUT_MS: '5000',
  NODE_OPTIONS: '',
} as const;

const preload = (name: string): string => fileURLToPath(new URL(`./preload/${name}.ts`, import.meta.url));
/** They do nothing until a row asks for it. */
const USUAL_PRELOADS: readonly Preload[] = [
  { file: preload('handler-bug'), into: ['evaluator'] },
  { file: preload('fail-fetch'), into: ['evaluator'] },
];

function preloadEnvironment({ service, name }: PlannedProcess, preloads: readonly Preload[]): Environment {
  const own = preloads.filter(({ into }) => into.includes(service) || into.includes(name));
  if (own.length === 0) return {};
  return {
    NODE_OPTIONS: own.map(({ file }) => `--import=${file}`).join(' '),
    ...Object.assign({}, ...own.map(({ env }) => env)),
  };
}

async function isReady(ops: string): Promise<boolean> {
  try {
    const answer = await fetch(`${ops}/readyz`, { signal: AbortSignal.timeout(2_000) });
    await answer.text();
    return answer.status === 200;
  } catch {
    return false;
  }
}
