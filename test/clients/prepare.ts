import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { locate } from '../../deploy/local/setup/locate.mjs';
import { report, run } from '../../deploy/local/setup/run.mjs';
import { withSetupLock } from '../../deploy/local/setup/setup-lock.mjs';

const PACKAGES = join(import.meta.dirname, 'packages');
const FILES = ['package.json', 'package-lock.json'] as const;
const GETH = 'github.com/ethereum/go-ethereum/cmd/geth';
const GETH_VERSION = 'v1.17.7';

export type Prepared = {
  /** The folder whose `node_modules` has the packages. */
  readonly packages: string;
  /** The path of go-ethereum; absent on a machine without Go. */
  readonly geth?: string;
};

/**
 * Installs clients and token sources in the user's cache, where every checkout finds them. They have their own lockfile
 * and stay out of the project's packages: 700 MB that only this test lane needs.
 */
export async function prepare(): Promise<Prepared> {
  const { cache } = locate();
  const lockfile = readFileSync(join(PACKAGES, 'package-lock.json'));
  const packages = join(cache, `clients-${createHash('sha256').update(lockfile).digest('hex').slice(0, 16)}`);
  const geth = join(cache, `geth-${GETH_VERSION}`, 'geth');
  if (!existsSync(packages)) await withSetupLock({ cache }, () => installPackages(packages));
  if (existsSync(geth)) return { packages, geth };
  if (spawnSync('go', ['version']).status !== 0) return { packages };
  await withSetupLock({ cache }, () => buildGeth(geth));
  return { packages, geth };
}

async function installPackages(folder: string): Promise<void> {
  if (existsSync(folder)) return;
  report('installing the Ethereum clients and tokens into the cache (npm ci, about 700 MB)');
  const draft = `${folder}.${process.pid}`;
  mkdirSync(draft, { recursive: true });
  try {
    for (const file of FILES) copyFileSync(join(PACKAGES, file), join(draft, file));
    const options = ['--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund', '--loglevel=error'];
    await run('npm', ['ci', ...options], { cwd: draft });
    renameSync(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function buildGeth(program: string): Promise<void> {
  if (existsSync(program)) return;
  report(`building go-ethereum ${GETH_VERSION} into the cache (go install, some minutes)`);
  const draft = `${program}.${process.pid}`;
  await run('go', ['install', `${GETH}@${GETH_VERSION}`], { env: { ...process.env, GOBIN: draft } });
  mkdirSync(join(program, '..'), { recursive: true });
  renameSync(join(draft, 'geth'), program);
  rmSync(draft, { recursive: true, force: true });
}
