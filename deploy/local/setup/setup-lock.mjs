import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { report } from './run.mjs';

/** Another set-up downloads for a few minutes at most; a lock older than this is not waited for. */
const WAIT_MS_MAX = 15 * 60_000;
const POLL_MS = 200;

/**
 * One set-up at a time per user: `npm start` and `npm test` in two terminals of a fresh machine must not
 * both install. The lock of a process that died is taken over.
 */
export async function withSetupLock({ cache }, prepare) {
  mkdirSync(cache, { recursive: true });
  const lock = join(cache, 'setup.lock');
  const giveUpAt = Date.now() + WAIT_MS_MAX;
  let said = false;
  while (!claim(lock)) {
    const holder = Number(readText(lock));
    if (holder > 0 && !isAlive(holder)) {
      rmSync(lock, { force: true });
      continue;
    }
    if (Date.now() > giveUpAt) throw new Error(`another set-up (process ${holder}) holds ${lock}`);
    if (!said) report(`waiting for another set-up (process ${holder})`);
    said = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const release = () => rmSync(lock, { force: true });
  process.on('exit', release);
  try {
    await prepare();
  } finally {
    process.off('exit', release);
    release();
  }
}

function claim(lock) {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function readText(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
