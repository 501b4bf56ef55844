import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';

/** A child that does not end by itself after SIGTERM is killed after this time. */
const STOP_TIMEOUT_MS = 10_000;

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Child = AsyncDisposable & {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Resolves when the process is gone; never rejects. */
  readonly exited: Promise<Exit>;
  /** SIGTERM, then SIGKILL once `stopTimeoutMs` has passed. Returns when the process is gone. */
  stop(): Promise<void>;
  /** SIGKILL at once, as in a crash. */
  kill9(): Promise<void>;
};

type ChildOptions = SpawnOptions & {
  readonly stopTimeoutMs?: number;
  /** Called with the process id as soon as there is one, before anything is waited for. */
  readonly onSpawn?: ((pid: number) => void) | undefined;
};

/**
 * Starts a program in a process group of its own, so that a Ctrl-C in the terminal reaches the
 * starter alone and the order in which things stop is the starter's to decide.
 *
 * @throws Error if the program cannot be started.
 *
 * @example
 * await using child = await spawnChild('sleep', ['60']);
 */
export async function spawnChild(
  program: string,
  args: readonly string[],
  options: ChildOptions = {},
): Promise<Child> {
  const { stopTimeoutMs = STOP_TIMEOUT_MS, onSpawn, ...spawnOptions } = options;
  const child = spawn(program, [...args], { ...spawnOptions, detached: true });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const { pid } = child;
  if (pid === undefined) throw await startFailure(child, program);
  // An abort is reported here as well as by the exit; callers wait for the exit.
  child.on('error', () => {});
  onSpawn?.(pid);

  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    const kill = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
    await exited;
    clearTimeout(kill);
  };
  const kill9 = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return { process: child, pid, exited, stop, kill9, [Symbol.asyncDispose]: stop };
}

async function startFailure(child: ChildProcess, program: string): Promise<Error> {
  const cause = await new Promise<Error>((resolve) => child.once('error', resolve));
  return new Error(`${program} could not be started: ${cause.message}`, { cause });
}

/** How a process ended, in words. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;
