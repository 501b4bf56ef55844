import { setTimeout as delay } from 'node:timers/promises';
import { readSystemFile, removeSystemFile } from '../system/system-file.ts';
import { isRunning } from './process-identity.ts';

/** A dead starter's watchdog takes 3.5 s at most; the remaining processes are then killed at
 * once. */
const WATCHDOG_MS_MAX = 5_000;
const KILLED_MS_MAX = 2_000;
const POLL_MS = 25;

/**
 * Waits until the processes of a killed starter are gone, and ends them if its watchdog was killed
 * as well. Called with the directory's lock held, so that starter is dead for certain.
 *
 * @throws Error if a process does not even end by SIGKILL.
 */
export async function endLeftovers(dir: string, say: (line: string) => void): Promise<void> {
  const system = readSystemFile(dir);
  const left = () => (system?.identities ?? []).filter(isRunning);
  if (left().length > 0) {
    say('waiting for the processes of a killed start to end');
    await waitUntilGone(left, WATCHDOG_MS_MAX);
    for (const { pid } of left()) process.kill(pid, 'SIGKILL');
    await waitUntilGone(left, KILLED_MS_MAX);
    const pids = left().map(({ pid }) => pid);
    if (pids.length > 0) throw new Error(`processes of an earlier start do not end: ${pids.join(', ')}`);
  }
  removeSystemFile(dir);
}

async function waitUntilGone(left: () => unknown[], msMax: number): Promise<void> {
  const giveUpAt = performance.now() + msMax;
  while (left().length > 0 && performance.now() < giveUpAt) await delay(POLL_MS);
}
