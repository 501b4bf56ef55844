import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { report, run } from '../run.mjs';
import { aptGet } from './apt.mjs';
import { findOnPath, isProgram } from './find-program.mjs';

/** Debian's packages whose programs tests use. */
const PACKAGES = {
  prometheus: { folder: 'usr/bin', programs: { server: 'prometheus', tool: 'promtool' } },
  nginx: { folder: 'usr/sbin', programs: { server: 'nginx' } },
  caddy: { folder: 'usr/bin', programs: { server: 'caddy' } },
};
export const PACKAGE_NAMES = Object.keys(PACKAGES);

/** The programs of a package: those on the PATH, else the cache's; undefined if there are none. */
export function findPackage(places, name) {
  const { folder, programs } = PACKAGES[name];
  const found = (fileOf) => {
    const files = Object.entries(programs).map(([use, program]) => [use, fileOf(program)]);
    return files.every(([, file]) => file && isProgram(file)) ? Object.fromEntries(files) : undefined;
  };
  return found(findOnPath) ?? found((program) => join(places.cache, name, folder, program));
}

/**
 * The programs of a package, which is downloaded and unpacked into the cache. It is not installed,
 * because that would start a service. null on a machine without apt: there the tests that need it
 * say that they are skipped.
 */
export async function unpackPackage(places, name) {
  const found = findPackage(places, name);
  if (found) return found;
  if (!has('apt-get') || !has('dpkg-deb')) {
    report(`${name} is not installed and apt is not available: the tests that need it will be skipped`);
    return null;
  }
  report(`fetching ${name} for the tests (apt-get download)`);
  const target = join(places.cache, name);
  const draft = `${target}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    // A fresh machine has no lists yet; only root may fetch them.
    if (process.getuid?.() === 0) await aptGet(places, ['update', '-q']);
    await aptGet(places, ['download', '-q', name], { cwd: draft });
    const [archive] = readdirSync(draft).filter((file) => file.endsWith('.deb'));
    await run('dpkg-deb', ['-x', join(draft, archive), join(draft, 'files')]);
    rmSync(target, { recursive: true, force: true });
    renameSync(join(draft, 'files'), target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return findPackage(places, name);
}

const has = (command) => !spawnSync(command, ['--version'], { stdio: 'ignore' }).error;

/** Whether the programs that an earlier set-up found are still there. */
export const isPackageThere = (found) =>
  found === null || (found !== undefined && Object.values(found).every((file) => existsSync(file)));
