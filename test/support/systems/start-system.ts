import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  identify,
  isRunning,
  type ProcessIdentity,
} from '../../../deploy/local/processes/process-identity.ts';
import { planPorts } from '../../../deploy/local/settings/plan-ports.ts';
import { isPortFree } from '../../../deploy/local/settings/ports.ts';
import type { ReadyLine } from '../../../deploy/local/system/ready-line.ts';
import { readSystemFile } from '../../../deploy/local/system/system-file.ts';
import { makeDataDir } from '../infrastructure/make-data-dir.ts';
import { waitUntil } from '../wait-until.ts';
import { makeRunningSystem, type RunningSystem } from './running-system.ts';
import { type SpawnedProcess, spawnNode } from './spawn-process.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const READY_TIMEOUT_MS = 600_000;
/** The end of the log of a failed start: enough for the last lines of every service. */
const LOG_TAIL_CHARS = 6_000;

/** Below the port range of client sockets; a system needs some 60 ports above its base. */
const BASE_MIN = 25_000;
const BASE_STEP = 100;
/** Concurrent test files search disjoint ranges: two could see the same ports free. */
const BASES_PER_RANGE = 10;
const RANGES = 7;
const BASE_TRIES_MAX = 50;

export type SystemOptions = {
  /** Options of `npm start` beyond `--json --no-demo --port-base --data`. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Default: a temporary directory, removed at the end. */
  readonly dataDir?: string;
  readonly portBase?: number;
  /** The checkout whose code is started; default this one. */
  readonly root?: string;
  /** The chain file to start with, for the future RPC address of the demo chain. */
  readonly chains?: (demoChainRpc: string) => unknown;
};

export type StartedSystem = AsyncDisposable &
  RunningSystem & {
    /** SIGTERM; the exit code. */
    readonly stop: () => Promise<number | string>;
  };

/**
 * Starts the whole system as `npm start` does, on its own ports and in its own directory, and waits
 * until it is ready. It ends when this process does.
 *
 * @throws Error with the end of its log if it ends before it is ready
 *
 * @example
 * await using system = await startSystem({ args: ['--evaluators', '2'] });
 * await system.client.check({ account: system.chain.holder, rules });
 */
export async function startSystem(options: SystemOptions = {}): Promise<StartedSystem> {
  const { args = [], env = {}, root = ROOT } = options;
  const portBase = options.portBase ?? (await findPortBase());
  const dataDir = options.dataDir ?? makeDataDir('e2e');
  const logFile = join(dataDir, `starter-${process.pid}-${portBase}.log`);
  const output = openSync(logFile, 'a');
  const own = ['--json', '--no-demo', '--port-base', String(portBase), '--data', dataDir];
  const chains = writeChains(options, portBase, dataDir);
  const child = spawn(process.execPath, ['deploy/local/start.ts', ...own, ...chains, ...args], {
    cwd: root,
    // The starter ends by itself when this process does.
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
        throw new Error(
          `the system ended with ${exit}:\n${readFileSync(logFile, 'utf8').slice(-LOG_TAIL_CHARS)}`,
        );
      return stdout.includes('\n') && (JSON.parse(stdout) as ReadyLine);
    },
    READY_TIMEOUT_MS,
  ).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  const facts = { ready, dataDir, logFile, portBase, root, starterPid: child.pid ?? 0 };
  return { ...makeRunningSystem(facts), stop, [Symbol.asyncDispose]: end };
}

/** The address that the demo chain will have. */
export const demoChainRpcOf = (portBase: number): string => `http://127.0.0.1:${portBase + 5}`;

/** The options that name the chain file, if one is given. */
function writeChains({ chains }: SystemOptions, portBase: number, dataDir: string): string[] {
  if (!chains) return [];
  const file = join(dataDir, 'test-chains.json');
  writeFileSync(file, JSON.stringify(chains(demoChainRpcOf(portBase))));
  return ['--chains', file];
}

/**
 * A base whose ports are free now, for the largest system that a test starts.
 *
 * @param place by default the worker's, from 1; the systems that suites share count down from −1
 */
export async function findPortBase(place = Number(process.env['JEST_WORKER_ID'] ?? '1')): Promise<number> {
  const range = (place + RANGES) % RANGES;
  for (let tries = 0; tries < BASE_TRIES_MAX; tries++) {
    const slot = range * BASES_PER_RANGE + Math.floor(Math.random() * BASES_PER_RANGE);
    const base = BASE_MIN + BASE_STEP * slot;
    if (await arePortsFree(base)) return base;
  }
  throw new Error('no free ports for a system');
}

async function arePortsFree(portBase: number): Promise<boolean> {
  const counts = { gateways: 3, evaluators: 3, resultStores: 3, dispatchers: 3, watchers: 3 };
  const rest = { data: '', once: false, demo: false, json: true, chains: undefined };
  const { processes, ...ports } = planPorts({ portBase, ...counts, ...rest });
  const own = processes.flatMap(({ opsPort, httpPort }) => (httpPort ? [opsPort, httpPort] : [opsPort]));
  const free = await Promise.all([...Object.values(ports), ...own].map(isPortFree));
  return free.every(Boolean);
}

type Start = { readonly portBase: number; readonly data: string; readonly args?: readonly string[] };

/** Starts as `npm start` does, set-up included, and does not wait until it is ready. */
export function spawnStarter(
  { portBase, data, args = [] }: Start,
  env: Readonly<Record<string, string>> = {},
): SpawnedProcess {
  const start = ['deploy/local/setup.mjs', 'node', 'deploy/local/start.ts', '--json', '--no-demo'];
  return spawnNode([...start, '--port-base', String(portBase), '--data', data, ...args], env);
}

/** Every process that a starter recorded, itself and its watchdog included. */
export function processesOf(dataDir: string): ProcessIdentity[] {
  const file = readSystemFile(dataDir);
  return file ? [file.starter, ...file.identities] : [];
}

export const identityOf = ({ pid }: SpawnedProcess): ProcessIdentity => identify(pid);

export const runningOf = (processes: readonly ProcessIdentity[]): ProcessIdentity[] =>
  processes.filter(isRunning);

export const untilGone = (processes: readonly ProcessIdentity[]): Promise<unknown> =>
  waitUntil('the end of every process', () => !processes.some(isRunning));

const bases = new Set<number>();
/** A base whose ports are unused, far below those of the systems that tests wait for. Each is
 * given once. */
export async function findFreeBase(): Promise<number> {
  return waitUntil('free ports', async () => {
    const base = 12_000 + 100 * Math.floor(Math.random() * 80);
    if (bases.has(base)) return false;
    bases.add(base);
    return (await arePortsFree(base)) && base;
  });
}
