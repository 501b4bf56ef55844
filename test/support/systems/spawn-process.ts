import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** A process that runs for long prints more than a test wants to keep. */
const OUTPUT_CHARS_MAX = 200_000;

export type SpawnedProcess = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The newest characters of its output so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Its exit code, or the name of the signal that ended it. */
  readonly exited: Promise<number | string>;
  readonly kill: (signal: NodeJS.Signals) => Promise<number | string>;
};

type SpawnOptions = {
  /** The name in the child's argv[0], if it differs from the command. */
  readonly argv0?: string;
  /** Whether it has a session of its own, as services have: Linux shares the CPU between
   * sessions. */
  readonly detached?: boolean;
  /** Characters of each output that are kept, the newest; default 200 000. */
  readonly outputCharsMax?: number;
};

/** Starts a program of the project with Node, from the project's root. Disposal kills it if it is
 * still running. */
export const spawnNode = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  options: SpawnOptions = {},
): SpawnedProcess => spawnProgram(process.execPath, args, env, options);

/** Starts any program from the project's root, as `spawnNode` does. */
export function spawnProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
  { outputCharsMax = OUTPUT_CHARS_MAX, ...options }: SpawnOptions = {},
): SpawnedProcess {
  const child = spawn(command, [...args], {
    ...options,
    cwd: ROOT,
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // An interrupted test run leaves no process behind.
  const end = () => void child.kill('SIGKILL');
  process.once('exit', end);
  child.once('exit', () => process.off('exit', end));
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk: Buffer) => {
      printed[name] = (printed[name] + chunk.toString()).slice(-outputCharsMax);
    });
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  return {
    child,
    pid: child.pid ?? 0,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    exited,
    kill,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await kill('SIGKILL');
    },
  };
}
