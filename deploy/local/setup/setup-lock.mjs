import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { claimLock, readLock, releaseLock } from './lock-file.js';
import { report } from './run.mjs';

/** Another set-up downloads for a few minutes at most; a lock older than this is not waited for. */
const WAIT_MS_MAX = 15 * 60_000;
const POLL_MS = 200;

/**
 * One set-up at a time per user: `npm start` and `npm test` in two terminals of a fresh machine
 * must not both install. The lock of a process that died is taken over.
 */
export async function withSetupLock({ cache }, prepare) {
  mkdirSync(cache, { recursive: true });
  const lock = join(cache, 'setup.lock');
  const own = String(process.pid);
  const giveUpAt = Date.now() + WAIT_MS_MAX;
  let said = false;
  while (!claimLock(lock, own, isHeld)) {
    const holder = readLock(lock) ?? 'that has just ended';
    if (Date.now() > giveUpAt) throw new Error(`another set-up (process ${holder}) holds ${lock}`);
    if (!said) report(`waiting for another set-up (process ${holder})`);
    said = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const release = () => releaseLock(lock, own);
  process.on('exit', release);
  try {
    await prepare();
  } finally {
    process.off('exit', release);
    release();
  }
}

function isHeld(text) {
  const pid = Number(text);
  // No process id: a disk that was full.
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
