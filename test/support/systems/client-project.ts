import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { borrowPart } from '../jest/borrow-part.ts';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..', '..');
const INSTALL_TIMEOUT_MS = 180_000;

/** A project with the client library installed from its tarball, like a user's. */
export type ClientProject = Disposable & {
  readonly folder: string;
  /** The paths in the tarball. */
  readonly packed: readonly string[];
  /** Copies a file of this repository into the project under its own name, and returns the new
   * path. */
  readonly copy: (path: string) => string;
  readonly write: (name: string, text: string) => string;
};

/** Runs npm with this Node: the Node on the PATH may be too old for it. */
const npm = (args: readonly string[], cwd: string) =>
  run('npm', [...args], {
    cwd,
    timeout: INSTALL_TIMEOUT_MS,
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
    },
  });

type Packed = { readonly filename: string; readonly files: readonly { readonly path: string }[] };

/** A project that others are copies of. */
export type ClientTemplate = Pick<ClientProject, 'folder' | 'packed'>;

/**
 * Builds the client library, packs it and installs the tarball into an empty project, without a
 * registry: the library has no dependencies.
 */
export async function buildClientTemplate(): Promise<ClientTemplate> {
  await run(process.execPath, [join(ROOT, 'deploy/client/build-client.ts')], { cwd: ROOT });
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-client-'));
  const { stdout } = await npm(['pack', join(ROOT, 'dist/client'), '--json'], folder);
  const [{ filename, files } = { filename: '', files: [] }] = JSON.parse(stdout) as Packed[];
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  await npm(['install', `./${filename}`, '--offline', '--no-audit', '--no-fund'], folder);
  // The other packages that the examples use, from this checkout.
  symlinkSync(join(ROOT, 'node_modules', 'express'), join(folder, 'node_modules', 'express'));
  return { folder, packed: files.map(({ path }) => path) };
}

/** A copy of the project that is built once for all suites of a run. */
export async function makeClientProject(): Promise<ClientProject> {
  const template = JSON.parse(await borrowPart('client')) as ClientTemplate;
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-client-'));
  cpSync(template.folder, folder, { recursive: true });
  return {
    folder,
    packed: template.packed,
    copy(path) {
      const target = join(folder, path.slice(path.lastIndexOf('/') + 1));
      cpSync(join(ROOT, path), target);
      return target;
    },
    write(name, text) {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const RUNTIMES = {
  Node: { name: `node-${process.platform}-${process.arch}`, file: 'bin/node', args: [] },
  Bun: { name: '@oven/bun-linux-x64', file: 'bin/bun', args: [] },
  Deno: { name: '@deno/linux-x64-glibc', file: 'deno', args: ['run', '--allow-all'] },
};

/**
 * The command that runs a file in another runtime, which is installed from npm into the user's cache
 * if it is missing; `undefined` if it is not available.
 */
export async function findRuntime(
  runtime: keyof typeof RUNTIMES,
  version: string,
): Promise<readonly [program: string, ...args: string[]] | undefined> {
  const { name, file, args } = RUNTIMES[runtime];
  if (runtime === 'Node' && process.versions.node.startsWith(`${version}.`)) return [process.execPath];
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(cache, 'rolecall', `${runtime.toLowerCase()}-${version}`);
  const program = join(folder, 'node_modules', name, file);
  if (existsSync(program)) return [program, ...args];
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const isInstalled = await npm(['install', `${name}@${version}`, '--no-audit', '--no-fund'], folder).then(
    () => true,
    () => false,
  );
  return isInstalled && existsSync(program) ? [program, ...args] : undefined;
}
