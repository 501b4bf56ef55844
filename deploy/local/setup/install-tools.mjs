import { spawnSync } from 'node:child_process';
import { report, run } from './run.mjs';

/** Newest first; Debian and Ubuntu releases differ in which of them they have. */
const JAVA_PACKAGES = ['openjdk-25-jre-headless', 'openjdk-21-jre-headless', 'openjdk-17-jre-headless'];

/** A machine that has just booted may be updating itself. */
const LOCK_WAIT = ['-o', 'DPkg::Lock::Timeout=120'];

/** `ROLECALL_SETUP_INSTALL=0` leaves the machine's packages alone. */
export function mayInstall() {
  if (process.env.ROLECALL_SETUP_INSTALL === '0' || process.getuid?.() !== 0) return false;
  return spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status === 0;
}

/** `redis-tools`, not `redis-server`: the latter would start a system service. */
export function aptPackages(missing) {
  const names = {
    java: javaPackage,
    maven: () => 'maven',
    redis: () => 'redis-tools',
    browser: () => 'chromium',
  };
  return missing.map((name) => names[name]());
}

export async function installByApt(missing) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  report(`installing ${missing.join(', ')} (apt-get)`);
  await run('apt-get', ['update', '-q'], { env });
  // Only after the update is it known which packages there are.
  const packages = aptPackages(missing);
  const install = ['install', '-y', '-q', '--no-install-recommends', ...LOCK_WAIT, ...packages];
  await run('apt-get', install, { env });
}

function javaPackage() {
  const known = (name) => spawnSync('apt-cache', ['show', name], { stdio: 'ignore' }).status === 0;
  return JAVA_PACKAGES.find(known) ?? 'default-jre-headless';
}
