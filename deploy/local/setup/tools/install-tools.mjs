import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { report } from '../run.mjs';
import { aptGet, aptPolicy } from './apt.mjs';
import { chooseJavaPackage, JAVA_PACKAGES } from './choose-java.mjs';

const MANUALS = '/usr/share/man/man1';

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
    java: () => chooseJavaPackage(aptPolicy(JAVA_PACKAGES)),
    maven: () => 'maven',
    redis: () => 'redis-tools',
    browser: () => 'chromium-headless-shell',
  };
  return missing.map((name) => names[name]());
}

export async function installByApt(places, missing) {
  report(`installing ${missing.join(', ')} (apt-get)`);
  await aptGet(places, ['update', '-q']);
  // Slim images have none, and Java's package fails without it: https://bugs.debian.org/863199
  if (missing.includes('java')) mkdirSync(MANUALS, { recursive: true });
  // Only after the update is it known which packages there are.
  const packages = aptPackages(missing);
  await aptGet(places, ['install', '-y', '-q', '--no-install-recommends', ...LOCK_WAIT, ...packages]);
}
