import { join } from 'node:path';
import { spawnChild } from './child.ts';

export type ProcessKind = 'service' | 'infrastructure';

export type Watchdog = AsyncDisposable & {
  readonly pid: number;
  /** From now on this process does not outlive the starter. */
  watch(pid: number, kind: ProcessKind): void;
  unwatch(pid: number): void;
};

/**
 * Starts the process that ends the watched ones within 5 s if this one dies, however it dies.
 *
 * @example
 * await using watchdog = await startWatchdog();
 * await using redis = await startRedis({ dir, port, onSpawn: (pid) => watchdog.watch(pid, 'infrastructure') });
 */
export async function startWatchdog(): Promise<Watchdog> {
  const child = await spawnChild(process.execPath, [join(import.meta.dirname, 'watchdog.ts')], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const { stdin } = child.process;
  if (!stdin) throw new Error('the watchdog has no input');
  // If it died, the next start still finds the remaining processes by their recorded ids.
  stdin.on('error', () => {});
  return {
    pid: child.pid,
    watch: (pid, kind) => void stdin.write(`+ ${pid} ${kind}\n`),
    unwatch: (pid) => void stdin.write(`- ${pid}\n`),
    async [Symbol.asyncDispose]() {
      stdin.end();
      await child.exited;
    },
  };
}
