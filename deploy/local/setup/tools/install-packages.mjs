import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { report, run } from '../run.mjs';

/**
 * Whether node_modules holds exactly the packages of the lockfile. npm keeps a lockfile of the
 * installed packages, so the two are compared by content: dates lie after a checkout, and a
 * needless `npm ci` costs a minute.
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

export async function installPackages(places) {
  report('installing packages (npm ci)');
  const npm = process.env.npm_execpath;
  // Its own level: `npm start --silent` would make a failure wordless.
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: places.root, progress: { what: 'npm ci', howFar: countPackages(places) } };
  if (npm?.endsWith('.js')) await run(process.execPath, [npm, ...args], options);
  else await run('npm', args, options);
}

/** npm draws its progress on terminals only; the unpacked packages can be counted. */
export function countPackages({ root, lockfile }) {
  const paths = Object.entries(packagesOf(lockfile))
    .filter(([path, { os, cpu }]) => path !== '' && isFor(process.platform, os) && isFor(process.arch, cpu))
    .map(([path]) => join(root, path));
  return () =>
    `${paths.filter((path) => existsSync(join(path, 'package.json'))).length} of ${paths.length} packages`;
}

/** Some packages are for other platforms, and are not installed. */
const isFor = (own, listed) => listed === undefined || listed.includes(own);

function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
}
