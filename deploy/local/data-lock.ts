import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isRunning, ProcessIdentity } from './process-identity.ts';

const CLAIM_TRIES_MAX = 5;

/**
 * Claims a data directory for this process: one system runs per directory. The lock of a process that is no
 * more is taken over.
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
  for (let tries = 0; !claim(lock, text); tries++) {
    const holder = readHolder(lock);
    if (holder && isRunning(holder))
      throw new Error(
        `a system already runs in ${dir} (process ${holder.pid}): stop it, or choose another directory by --data`,
      );
    if (tries === CLAIM_TRIES_MAX) throw new Error(`${lock} cannot be claimed: remove it`);
    removeStale(lock);
  }
  return { [Symbol.dispose]: () => release(lock, text) };
}

function claim(lock: string, text: string): boolean {
  try {
    writeFileSync(lock, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Renames the lock and reads it again before removing it: another starter may have replaced the dead holder's lock
 * meanwhile. In that case the lock is restored.
 */
function removeStale(lock: string): void {
  const aside = `${lock}.${process.pid}`;
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  const holder = readHolder(aside);
  if (holder && isRunning(holder)) renameSync(aside, lock);
  else rmSync(aside, { force: true });
}

function release(lock: string, text: string): void {
  if (readText(lock) === text) rmSync(lock, { force: true });
}

function readHolder(lock: string): ProcessIdentity | undefined {
  try {
    return ProcessIdentity.parse(JSON.parse(readText(lock)));
  } catch {
    return undefined;
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
