import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { report, run } from '../../deploy/local/setup/run.mjs';
import { withSetupLock } from '../../deploy/local/setup/setup-lock.mjs';
import { locate } from '../../deploy/local/setup/tools/locate.mjs';

const PACKAGES = join(import.meta.dirname, 'packages');
const FILES = ['package.json', 'package-lock.json'] as const;
/** Programs that Go builds. */
const GETH = {
  folder: 'geth',
  name: 'geth',
  source: 'github.com/ethereum/go-ethereum/cmd/geth',
  version: 'v1.17.7',
};
/** Later versions cannot be built as a dependency. */
const AVALANCHE = {
  folder: 'avalanchego',
  name: 'main',
  source: 'github.com/ava-labs/avalanchego/main',
  version: 'v1.14.0',
};

export type Prepared = {
  /** The folder whose `node_modules` has the packages. */
  readonly packages: string;
  /** The path of go-ethereum; absent on a machine without Go. */
  readonly geth?: string;
  /** The path of avalanchego; absent unless it is asked for. */
  readonly avalanche?: string;
};

/**
 * Installs clients and token sources in the user's cache, where every checkout finds them. They
 * have their own lockfile and stay out of the project's packages: 700 MB that only this test lane
 * needs.
 */
export async function prepare({ withAvalanche = false } = {}): Promise<Prepared> {
  const { cache } = locate();
  const lockfile = readFileSync(join(PACKAGES, 'package-lock.json'));
  const packages = join(cache, `clients-${createHash('sha256').update(lockfile).digest('hex').slice(0, 16)}`);
  if (!existsSync(packages)) await withSetupLock({ cache }, () => installPackages(packages));
  const geth = await provide(cache, GETH);
  const avalanche = withAvalanche ? await provide(cache, AVALANCHE) : undefined;
  return { packages, ...(geth && { geth }), ...(avalanche && { avalanche }) };
}

type GoProgram = {
  readonly folder: string;
  readonly name: string;
  readonly source: string;
  readonly version: string;
};

/** The path of a program in the cache, which is built if it is not there; `undefined` without
 * Go. */
async function provide(cache: string, program: GoProgram): Promise<string | undefined> {
  const file = join(cache, `${program.folder}-${program.version}`, program.name);
  if (existsSync(file)) return file;
  if (spawnSync('go', ['version']).status !== 0) return undefined;
  await withSetupLock({ cache }, () => buildGoProgram(program, file));
  return file;
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

async function buildGoProgram({ name, source, version }: GoProgram, file: string): Promise<void> {
  if (existsSync(file)) return;
  report(`building ${source} ${version} into the cache (go install, some minutes)`);
  const draft = `${file}.${process.pid}`;
  await run('go', ['install', `${source}@${version}`], { env: { ...process.env, GOBIN: draft } });
  mkdirSync(join(file, '..'), { recursive: true });
  renameSync(join(draft, name), file);
  rmSync(draft, { recursive: true, force: true });
}
