import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..', '..');
const INSTALL_TIMEOUT_MS = 180_000;

/** A project with the client library installed from its tarball, like a user's. */
export type ClientProject = Disposable & {
  readonly folder: string;
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

/**
 * Builds the client library, packs it and installs the tarball into an empty project, without a
 * registry: the library has no dependencies.
 */
export async function makeClientProject(): Promise<ClientProject> {
  await run(process.execPath, [join(ROOT, 'deploy/client/build-client.ts')], { cwd: ROOT });
  const folder = mkdtempSync(join(tmpdir(), 'rolecall-client-'));
  const { stdout } = await npm(['pack', join(ROOT, 'dist/client'), '--json'], folder);
  const [{ filename = '' } = {}] = JSON.parse(stdout) as { filename?: string }[];
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  await npm(['install', `./${filename}`, '--offline', '--no-audit', '--no-fund'], folder);
  // The other packages that the examples use, from this checkout.
  symlinkSync(join(ROOT, 'node_modules', 'express'), join(folder, 'node_modules', 'express'));
  return {
    folder,
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

/**
 * The program of another major version of Node, installed from npm into the user's cache if it is
 * missing; `undefined` if it is not available.
 */
export async function findNode(major: number): Promise<string | undefined> {
  if (process.versions.node.startsWith(`${major}.`)) return process.execPath;
  const folder = join(
    process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
    'rolecall',
    `node-${major}`,
  );
  const name = `node-${process.platform}-${process.arch}`;
  const program = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const isInstalled = await npm(['install', `${name}@${major}`, '--no-audit', '--no-fund'], folder).then(
    () => true,
    () => false,
  );
  return isInstalled && existsSync(program) ? program : undefined;
}
