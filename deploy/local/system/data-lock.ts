import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isRunning, ProcessIdentity } from '../processes/process-identity.ts';
import { claimLock, readLock, releaseLock } from '../setup/lock-file.js';

const CLAIM_TRIES_MAX = 5;

/**
 * Claims a data directory for this process: one system runs per directory. The lock of a process
 * that is no more is taken over.
 *
 * @throws Error that names the process which has the directory.
 *
 * @example
 * using lock = claimDataDirectory('.data');
 */
export function claimDataDirectory(dir: string): Disposable {
  mkdirSync(dir, { recursive: true });
  const lock = join(dir, 'starter.lock');
  const text = JSON.stringify(identify(process.pid));
  for (let tries = 0; !claimLock(lock, text, isHeld); tries++) {
    const holder = holderOf(readLock(lock) ?? '');
    if (holder && isRunning(holder))
      throw new Error(
        `a system already runs in ${dir} (process ${holder.pid}): stop it, or choose another directory by --data`,
      );
    if (tries === CLAIM_TRIES_MAX) throw new Error(`${lock} cannot be claimed: remove it`);
  }
  return { [Symbol.dispose]: () => releaseLock(lock, text) };
}

const isHeld = (text: string): boolean => {
  const holder = holderOf(text);
  return holder !== undefined && isRunning(holder);
};

function holderOf(text: string): ProcessIdentity | undefined {
  try {
    return ProcessIdentity.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
