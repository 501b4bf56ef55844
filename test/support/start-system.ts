import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { planPorts } from '../../deploy/local/plan-ports.ts';
import { isPortFree } from '../../deploy/local/ports.ts';
import type { ReadyLine } from '../../deploy/local/ready-line.ts';
import { loadLocalSystem } from '../../services/developer-portal/admin/local-system.ts';
import { type CheckClient, makeCheckClient } from './check-client.ts';
import { spawnNode } from './spawn-process.ts';
import { waitUntil } from './wait-until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const READY_TIMEOUT_MS = 300_000;
/** Of a start that failed: enough for what every service said last. */
const LOG_TAIL_CHARS = 6_000;

/** Below every client socket's range; a system needs some 60 ports above its base. */
const BASE_MIN = 25_000;
const BASE_STEP = 100;
/** Test files that run at the same time look in ranges of their own: two could see the same ports free. */
const BASES_PER_WORKER = 10;
const WORKERS_MAX = 7;
const BASE_TRIES_MAX = 50;

export type SystemOptions = {
  /** Options of `npm start` beyond `--json --no-demo --port-base --data`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a directory of its own, removed in the end. */
  readonly dataDir?: string;
  readonly portBase?: number;
  /** The chain file to start with, given where the demo chain will be. */
  readonly chains?: (demoChainRpc: string) => unknown;
};

export type AdminAnswer = {
  readonly exitCode: number | string;
  readonly stdout: string;
  readonly stderr: string;
  /** What `--json` printed on stdout. */
  readonly value: unknown;
};

export type StartedSystem = AsyncDisposable & {
  readonly ready: ReadyLine;
  /** The demo chain's part of the ready line. */
  readonly chain: NonNullable<ReadyLine['chain']>;
  readonly dataDir: string;
  readonly portBase: number;
  readonly starterPid: number;
  /** Speaks to the first gateway as the demo app. */
  readonly client: CheckClient;
  /** Everything that the starter and the services have printed. */
  readonly log: () => string;
  /** The process ids of a service; a process that is restarting has none. */
  readonly pidsOf: (service: string) => number[];
  /** Kills the first process of a service with -9 and returns when another has taken its place and is ready. */
  readonly kill: (service: string) => Promise<void>;
  /** What leads an operator to its broker, its store and its keys. */
  readonly environment: () => Readonly<Record<string, string>>;
  /** Runs the operator's command with `--json`. */
  readonly admin: (...args: string[]) => Promise<AdminAnswer>;
  /** SIGTERM; the exit code. */
  readonly stop: () => Promise<number | string>;
};

/**
 * Starts the whole system as `npm start` does, on ports and in a directory of its own, and waits until it is
 * ready. It ends when this process does.
 *
 * @throws Error with the end of its log if it ends before it is ready
 *
 * @example
 * await using system = await startSystem({ args: ['--evaluators', '2'] });
 * await system.client.check({ account: system.chain.holder, rules });
 */
export async function startSystem(options: SystemOptions = {}): Promise<StartedSystem> {
  const { args = [], env = {} } = options;
  const portBase = options.portBase ?? (await findPortBase());
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'rolecall-e2e-'));
  const logFile = join(dataDir, `starter-${process.pid}-${portBase}.log`);
  const output = openSync(logFile, 'a');
  const own = ['--json', '--no-demo', '--port-base', String(portBase), '--data', dataDir];
  const chains = writeChains(options, portBase, dataDir);
  const child = spawn(process.execPath, ['deploy/local/start.ts', ...own, ...chains, ...args], {
    cwd: ROOT,
    // The starter ends by itself when the process that is named here does.
    env: { ...process.env, NODE_OPTIONS: '', ROLECALL_LAUNCHER_PID: String(process.pid), ...env },
    stdio: ['ignore', 'pipe', output],
  });
  closeSync(output);
  let stdout = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  let exit: number | string | undefined;
  const exited = once(child, 'close').then(([code, signal]) => {
    exit = (code ?? signal) as number | string;
    return exit;
  });
  const log = (): string => readFileSync(logFile, 'utf8');
  const stop = async (): Promise<number | string> => {
    if (exit === undefined) child.kill('SIGTERM');
    return exited;
  };
  const end = async (): Promise<void> => {
    await stop();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  const ready = await waitUntil(
    'the ready line',
    () => {
      if (exit !== undefined)
        throw new Error(`the system ended with ${exit}:\n${log().slice(-LOG_TAIL_CHARS)}`);
      return stdout.includes('\n') && (JSON.parse(stdout) as ReadyLine);
    },
    READY_TIMEOUT_MS,
  ).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const { chain } = ready;
  if (chain === null) throw new Error('the tests need the demo chain');

  const running = () => loadLocalSystem(dataDir).processes;
  const pidsOf = (service: string): number[] =>
    running().flatMap((process) => (process.service === service ? [process.pid] : []));
  return {
    ready,
    chain,
    dataDir,
    portBase,
    starterPid: child.pid ?? 0,
    environment: () => loadLocalSystem(dataDir).environment,
    client: makeCheckClient({ url: ready.gateways[0] ?? '', apiKey: ready.app.apiKey }),
    log,
    pidsOf,
    async kill(service) {
      const before = running();
      const victim = before.find((process) => process.service === service);
      if (!victim) throw new Error(`no ${service} runs`);
      process.kill(victim.pid, 'SIGKILL');
      await waitUntil(`another ${service}`, async () => {
        const known = before.map(({ pid }) => pid);
        const fresh = running().find((p) => p.service === service && !known.includes(p.pid));
        return fresh !== undefined && (fresh.ops === null || (await isReady(fresh.ops)));
      });
    },
    admin: (...command) => runAdmin([...command, '--data', dataDir, '--json']),
    stop,
    [Symbol.asyncDispose]: end,
  };
}

/** The options that name the chain file, if one is asked for. */
function writeChains({ chains }: SystemOptions, portBase: number, dataDir: string): string[] {
  if (!chains) return [];
  const file = join(dataDir, 'test-chains.json');
  writeFileSync(file, JSON.stringify(chains(`http://127.0.0.1:${portBase + 5}`)));
  return ['--chains', file];
}

/** A base whose ports are free now, for the largest system that the tests start. */
export async function findPortBase(): Promise<number> {
  const worker = Number(process.env['JEST_WORKER_ID'] ?? 1) % WORKERS_MAX;
  for (let tries = 0; tries < BASE_TRIES_MAX; tries++) {
    const place = worker * BASES_PER_WORKER + Math.floor(Math.random() * BASES_PER_WORKER);
    const base = BASE_MIN + BASE_STEP * place;
    const needed = portsOf(base);
    const free = await Promise.all(needed.map(isPortFree));
    if (free.every(Boolean)) return base;
  }
  throw new Error('no free ports for a system');
}

function portsOf(portBase: number): number[] {
  const counts = { gateways: 3, evaluators: 3, resultStores: 3, dispatchers: 3, watchers: 3 };
  const rest = { data: '', once: false, demo: false, json: true, chains: undefined };
  const { processes, ...ports } = planPorts({ portBase, ...counts, ...rest });
  const own = processes.flatMap(({ opsPort, httpPort }) => (httpPort ? [opsPort, httpPort] : [opsPort]));
  return [...Object.values(ports), ...own];
}

async function isReady(ops: string): Promise<boolean> {
  try {
    return (await fetch(`${ops}/readyz`)).status === 200;
  } catch {
    return false;
  }
}

async function runAdmin(args: readonly string[]): Promise<AdminAnswer> {
  await using command = spawnNode(['services/developer-portal/admin/main.ts', ...args]);
  const exitCode = await command.exited;
  const stdout = command.stdout();
  return {
    exitCode,
    stdout,
    stderr: command.stderr(),
    value: stdout === '' ? undefined : (JSON.parse(stdout) as unknown),
  };
}
