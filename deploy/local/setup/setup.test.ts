// Set-up runs in a project of its own: a copy of its files, a lockfile, and packages that are links or nothing.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type SpawnedProcess, spawnProgram } from '../../../test/support/spawn-process.ts';

const LOCAL = dirname(__dirname);
const LOCKFILE = {
  packages: {
    '': {},
    'node_modules/a': { version: '1.0.0' },
    'node_modules/b': { version: '2.0.0', optional: true },
  },
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rolecall-setup-'));
  const local = join(root, 'deploy', 'local');
  cpSync(join(LOCAL, 'setup.mjs'), join(local, 'setup.mjs'));
  cpSync(join(LOCAL, 'setup'), join(local, 'setup'), { recursive: true });
  mkdirSync(join(root, 'node_modules', 'node', 'bin'), { recursive: true });
  symlinkSync(process.execPath, join(root, 'node_modules', 'node', 'bin', 'node'));
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(LOCKFILE));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const spawnSetup = (
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): SpawnedProcess => {
  const script = join(root, 'deploy', 'local', 'setup.mjs');
  return spawnProgram(process.execPath, [script, ...command], {
    XDG_CACHE_HOME: join(root, 'cache'),
    ...env,
  });
};

/** What a successful set-up leaves; every file that it names exists. */
function writeStamp(): void {
  const lockfile = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  const kafka = {
    version: '4.3.1',
    home: join(root, 'cache', 'rolecall', 'kafka-4.3.1'),
    jars: [],
    archive: null,
  };
  const stamp = { version: 1, lockfile, java: process.execPath, redis: process.execPath, kafka };
  writeFileSync(join(root, 'node_modules', '.rolecall-setup.json'), JSON.stringify(stamp));
}

/** Nothing is found on this PATH, and nothing may be installed. */
const BARE = { PATH: '/nowhere', JAVA_HOME: '', ROLECALL_SETUP_INSTALL: '0' };

test('a machine that is prepared runs the command at once: its output, its exit code, nothing of our own', async () => {
  writeStamp();
  await using command = spawnSetup(['node', '-e', 'console.log(process.argv[1]); process.exit(7)', 'hello']);
  expect(await command.exited).toBe(7);
  expect(command.stdout()).toBe('hello\n');
  expect(command.stderr()).toBe('');
});

test('`node` is the project’s own, for the command and for what it starts', async () => {
  writeStamp();
  await using command = spawnSetup(['node', '-p', 'process.env.PATH.split(":")[0]']);
  await command.exited;
  expect(command.stdout().trim()).toBe(join(root, 'node_modules', '.bin'));
});

test('a signal reaches the command, whose own ending decides', async () => {
  writeStamp();
  const script =
    "process.on('SIGTERM', () => process.exit(5)); setInterval(() => {}, 1000); console.log('up')";
  await using command = spawnSetup(['node', '-e', script]);
  await new Promise((resolve) => command.child.stdout?.once('data', resolve));
  expect(await command.kill('SIGTERM')).toBe(5);
});

test('a browser is asked for where the tests need one, and only there', async () => {
  writeStamp();
  await using start = spawnSetup(['node', '-e', 'process.exit(3)'], BARE);
  expect(await start.exited).toBe(3);
  await using tests = spawnSetup(['--with-browser', 'node', '-e', 'process.exit(3)'], BARE);
  expect(await tests.exited).toBe(1);
  expect(tests.stderr()).toMatch(/missing: .*Chromium or Chrome/);
});

test('Prometheus is looked for where the tests need it, and a machine that cannot fetch it is no error', async () => {
  writeStamp();
  await using tests = spawnSetup(['--with-prometheus', 'node', '-e', 'process.exit(3)'], BARE);
  // The stamp says nothing of it, so the machine is prepared anew.
  expect(await tests.exited).toBe(1);
  const script = `
    const { fetchPrometheus } = await import('${join(LOCAL, 'setup', 'fetch-prometheus.mjs')}');
    console.log(await fetchPrometheus({ prometheus: '/nowhere' }));`;
  await using fetch = spawnProgram(process.execPath, ['--input-type=module', '-e', script], BARE);
  expect(await fetch.exited).toBe(0);
  expect(fetch.stdout()).toBe('null\n');
  expect(fetch.stderr()).toContain('will be skipped');
});

test('everything that is missing is named in one error, with the command that installs it', async () => {
  await using command = spawnSetup(['node', '-e', 'console.log("ran")'], BARE);
  expect(await command.exited).toBe(1);
  expect(command.stdout()).toBe('');
  expect(command.stderr()).toMatch(/missing: .*Redis, version 7 or later; Maven/);
  expect(command.stderr()).toMatch(
    /To install: (sudo apt-get update && sudo apt-get install|brew install) .*maven/,
  );
});

test.each([
  ['another lockfile', () => writeFileSync(join(root, 'package-lock.json'), '{"packages":{}}')],
  ['a damaged stamp', () => writeFileSync(join(root, 'node_modules', '.rolecall-setup.json'), '{"version":')],
])('%s makes it prepare again', async (_, change) => {
  writeStamp();
  change();
  await using command = spawnSetup([], BARE);
  expect(await command.exited).toBe(1);
  expect(command.stderr()).toContain('missing: ');
});

test.each([
  ['what the lockfile names is installed, but for another platform’s', { a: '1.0.0' }, true],
  ['a package has another version', { a: '1.0.1' }, false],
  ['an optional package has another version', { a: '1.0.0', b: '1.0.0' }, false],
  ['a package is not there', { b: '2.0.0' }, false],
])('packages: %s', async (_, installed, expected) => {
  const packages = Object.entries(installed).map(([name, version]) => [`node_modules/${name}`, { version }]);
  const file = join(root, 'node_modules', '.package-lock.json');
  writeFileSync(file, JSON.stringify({ packages: Object.fromEntries(packages) }));
  const folder = join(root, 'deploy', 'local', 'setup');
  const script = `
    const { packagesAreInstalled } = await import('${folder}/install-packages.mjs');
    const { locate } = await import('${folder}/locate.mjs');
    console.log(packagesAreInstalled(locate()));`;
  await using command = spawnProgram(process.execPath, ['--input-type=module', '-e', script]);
  await command.exited;
  expect(command.stdout().trim()).toBe(String(expected));
});
