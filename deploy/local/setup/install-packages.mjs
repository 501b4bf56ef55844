import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { report, run } from './run.mjs';

/**
 * Whether node_modules holds exactly what the lockfile names. npm keeps a lockfile of what it installed, so
 * the two are compared by content: dates lie after a checkout, and a needless `npm ci` costs a minute.
 */
export function packagesAreInstalled({ lockfile, installedLockfile, modules }) {
  if (!existsSync(installedLockfile) || !existsSync(join(modules, 'node', 'bin', 'node'))) return false;
  const wanted = packagesOf(lockfile);
  const installed = packagesOf(installedLockfile);
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true;
    // Packages for other platforms are in the lockfile and not on the disk.
    if (installed[path] === undefined) return Boolean(optional || devOptional);
    return installed[path].version === version;
  });
}

export async function installPackages({ root }) {
  report('installing packages (npm ci)');
  const npm = process.env.npm_execpath;
  // Its own level: `npm start --silent` would make a failure wordless.
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  if (npm?.endsWith('.js')) await run(process.execPath, [npm, ...args], { cwd: root });
  else await run('npm', args, { cwd: root });
}

function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
}
