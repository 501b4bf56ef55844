import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isPackageThere, PACKAGE_NAMES } from './tools/unpack-package.mjs';

/** Raised when set-up does more or other things than before, so that old stamps do not count. */
const STAMP_VERSION = 1;

/**
 * The facts of the last successful set-up, or undefined if one of them no longer holds: another
 * lockfile, a program or jar that went away, or a browser or package that is requested now and was
 * not then. This is all that an ordinary start pays for set-up.
 */
export function readStamp(places, { browser = false, packages = false } = {}) {
  const stamp = readJson(places.stamp);
  if (stamp?.version !== STAMP_VERSION || stamp.lockfile !== hashOf(places.lockfile)) return undefined;
  if (stamp.kafka.version !== places.kafkaVersion || stamp.kafka.home !== places.kafka) return undefined;
  if (browser && !existsSync(stamp.browser ?? '')) return undefined;
  if (packages && !PACKAGE_NAMES.every((name) => isPackageThere(stamp[name]))) return undefined;
  const needed = [stamp.java, stamp.redis, stamp.kafka.archive, ...stamp.kafka.jars];
  return needed.every((file) => file === null || existsSync(file)) ? stamp : undefined;
}

/** Written to one side and renamed, so that no reader ever sees half of it. */
export function writeStamp(places, facts) {
  const stamp = { version: STAMP_VERSION, lockfile: hashOf(places.lockfile), ...facts };
  const draft = `${places.stamp}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(stamp, null, 2)}\n`);
  renameSync(draft, places.stamp);
}

function hashOf(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
