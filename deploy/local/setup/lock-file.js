import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Makes the lock file with the text that names its holder, or takes it over from a holder that is no
 * more; false while another one has it, or has just released it.
 *
 * Between reading who held a lock and replacing it, another process may do the same, and a third
 * find no lock. So a lock is never away while it is replaced, and one process at a time replaces it:
 * the one that holds the lock of the lock, which is taken over alike.
 *
 * @param isHeld whether the holder of this name still is
 */
export function claimLock(lock, text, isHeld) {
  if (makeFile(lock, text)) return true;
  const holder = readLock(lock);
  if (holder === undefined || isHeld(holder)) return false;
  const turn = `${lock}.next`;
  if (!claimLock(turn, text, isHeld)) return false;
  try {
    if (readLock(lock) !== holder) return false;
    const own = ownFile(lock, text);
    renameSync(own, lock);
    return true;
  } finally {
    releaseLock(turn, text);
  }
}

/** Removes the lock of this holder, and of no other. */
export function releaseLock(lock, text) {
  if (readLock(lock) === text) rmSync(lock, { force: true });
}

/** The text that names the holder; undefined without a lock. */
export function readLock(lock) {
  try {
    return readFileSync(lock, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes a file with its text at once, so that nobody reads half of it; false if there is one. */
function makeFile(file, text) {
  const own = ownFile(file, text);
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

function ownFile(file, text) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, text);
  return own;
}
