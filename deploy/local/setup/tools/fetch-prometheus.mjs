import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { report, run } from '../run.mjs';
import { aptGet } from './apt.mjs';
import { findOnPath, isProgram } from './find-program.mjs';

/** The folder that has `prometheus` and `promtool`: one on the PATH, else the cache's; undefined if
 * there is none. */
export function findPrometheus(places) {
  const [server, tool] = ['prometheus', 'promtool'].map(findOnPath);
  if (server && tool) return { server, tool };
  const folder = join(places.prometheus, 'usr', 'bin');
  const unpacked = { server: join(folder, 'prometheus'), tool: join(folder, 'promtool') };
  return isProgram(unpacked.server) && isProgram(unpacked.tool) ? unpacked : undefined;
}

/**
 * Prometheus for the tests: Debian's package, downloaded and unpacked into the cache. It is not
 * installed, because that would start a service. null on a machine without apt: there the tests
 * that need it say that they are skipped.
 */
export async function fetchPrometheus(places) {
  const found = findPrometheus(places);
  if (found) return found;
  if (!has('apt-get') || !has('dpkg-deb')) {
    report('Prometheus is not installed and apt is not available: the alert tests will be skipped');
    return null;
  }
  report('fetching Prometheus for the tests (apt-get download, about 20 MB)');
  const draft = `${places.prometheus}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    // A fresh machine has no lists yet; only root may fetch them.
    if (process.getuid?.() === 0) await aptGet(places, ['update', '-q']);
    await aptGet(places, ['download', '-q', 'prometheus'], { cwd: draft });
    const [archive] = readdirSync(draft).filter((name) => name.endsWith('.deb'));
    await run('dpkg-deb', ['-x', join(draft, archive), join(draft, 'files')]);
    rmSync(places.prometheus, { recursive: true, force: true });
    renameSync(join(draft, 'files'), places.prometheus);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return findPrometheus(places);
}

const has = (command) => !spawnSync(command, ['--version'], { stdio: 'ignore' }).error;

/** Whether the Prometheus of an earlier set-up is still there. */
export const isPrometheusThere = (found) =>
  found === null || (found !== undefined && [found.server, found.tool].every((file) => existsSync(file)));
