import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** Makes the lock file with the text that names its holder; false if there is one. */
export function claimLock(lock, text) {
  try {
    writeFileSync(lock, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock of a holder that is no more. It is renamed and read again before: another
 * process may have replaced the dead holder's lock meanwhile. In that case the lock is restored.
 */
export function removeStaleLock(lock, isHeld) {
  const aside = `${lock}.${process.pid}`;
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  if (isHeld(readLock(aside))) renameSync(aside, lock);
  else rmSync(aside, { force: true });
}

/** Removes the lock of this holder, and of no other. */
export function releaseLock(lock, text) {
  if (readLock(lock) === text) rmSync(lock, { force: true });
}

/** The text that names the holder; empty without a lock. */
export function readLock(lock) {
  try {
    return readFileSync(lock, 'utf8');
  } catch {
    return '';
  }
}
