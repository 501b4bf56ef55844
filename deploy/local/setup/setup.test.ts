// Set-up runs in a project of its own: a copy of its files, a lockfile, and packages that are links
// or nothing.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { type SpawnedProcess, spawnProgram } from '../../../test/support/systems/spawn-process.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';

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
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
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

/** The result of a successful set-up; every file that it names exists. */
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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
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

test('`node` is the project’s own, for the command and for its child processes', async () => {
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

test('a signal reaches every process of a command with a session of its own', async () => {
  writeStamp();
  const child = `
    process.on('SIGTERM', () => { console.log('child ended'); process.exit(); });
    setInterval(() => {}, 1000);
    console.log('up');`;
  const script = `
    const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
    process.on('SIGTERM', () => child.on('exit', () => process.exit(5)));`;
  await using command = spawnSetup(['--own-session', 'node', '-e', script]);
  await waitUntil('the child', () => command.stdout().includes('up'));
  expect(await command.kill('SIGTERM')).toBe(5);
  expect(command.stdout()).toContain('child ended');
});

/** Runs a script as npm does: in a shell of its own, which becomes set-up by `exec`. */
const NPM = `
  require('node:fs').writeFileSync('npm.pid', String(process.pid));
  const script = ['-c', 'exec "$0" "$@"', process.execPath, ...process.argv.slice(1)];
  const env = { ...process.env, npm_lifecycle_event: 'start' };
  require('node:child_process').spawn('sh', script, { stdio: 'inherit', env });`;
const BEAT = `
  const { appendFileSync, writeFileSync } = require('node:fs');
  writeFileSync('command.pid', String(process.pid));
  setInterval(() => appendFileSync('beats', '.'), 20);`;
/** More beats than fit between two looks at the parent. */
const BEATS_MIN = 50;

test('a command goes on when the shell that put npm into the background ends, and ends when npm is killed', async () => {
  writeStamp();
  const script = join(root, 'deploy', 'local', 'setup.mjs');
  const background = 'cd "$0" && { "$@" >/dev/null 2>&1 & } && until [ -s beats ]; do sleep 0.05; done';
  const npm = [process.execPath, '-e', NPM, script, 'node', '-e', BEAT];
  await using shell = spawnProgram('sh', ['-c', background, root, ...npm], {
    XDG_CACHE_HOME: join(root, 'cache'),
  });
  expect(await shell.exited).toBe(0);
  const pidIn = (file: string) => Number(readFileSync(join(root, file), 'utf8'));
  const command = pidIn('command.pid');
  try {
    const beatCount = () => statSync(join(root, 'beats')).size;
    const before = beatCount();
    await waitUntil('the command to go on', () => beatCount() > before + BEATS_MIN);
  } finally {
    process.kill(pidIn('npm.pid'), 'SIGKILL');
  }
  await waitUntil('the command to end', () => !isAlive(command));
});

test('a browser is installed only for the tests that need one', async () => {
  writeStamp();
  await using start = spawnSetup(['node', '-e', 'process.exit(3)'], BARE);
  expect(await start.exited).toBe(3);
  await using tests = spawnSetup(['--with-browser', 'node', '-e', 'process.exit(3)'], BARE);
  expect(await tests.exited).toBe(1);
  expect(tests.stderr()).toMatch(/missing: .*Chromium or Chrome/);
});

test('Prometheus, nginx and Caddy are searched for the tests that need them, and a machine without them is not an error', async () => {
  writeStamp();
  await using tests = spawnSetup(['--with-packages', 'node', '-e', 'process.exit(3)'], BARE);
  // The stamp does not contain them, so the machine is prepared again.
  expect(await tests.exited).toBe(1);
  const script = `
    const { unpackPackage } = await import('${join(LOCAL, 'setup', 'tools', 'unpack-package.mjs')}');
    console.log(await unpackPackage({ cache: '/nowhere' }, 'prometheus'));`;
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

/** Programs that replace those of a machine: they leave their environment in `<name>.env`, then do
 * as told. */
function writePrograms(programs: Readonly<Record<string, string>>): string {
  const folder = join(root, 'bin');
  mkdirSync(folder);
  for (const [name, body] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\nenv >>'${root}/${name}.env'\n${body}\n`, { mode: 0o755 });
  return `${folder}:${process.env['PATH']}`;
}
const environmentOf = (program: string) => readFileSync(join(root, `${program}.env`), 'utf8');
const FETCH_KAFKA = `
  for word; do case $word in -DoutputDirectory=*) mkdir -p "\${word#*=}" && touch "\${word#*=}/kafka.jar";; esac; done
  for word in $MAVEN_OPTS; do case $word in @*) cat "\${word#@}" >>'ROOT/java.options';; esac; done`;

test('proxy, certificates and Java’s options reach every step of set-up, and the command', async () => {
  const certificate = join(root, 'authority.pem');
  writeFileSync(certificate, rootCertificates[0] ?? '');
  const PATH = writePrograms({
    java: `echo 'openjdk version "21"' >&2`,
    'redis-server': `echo 'Redis server v=7.0.15'`,
    mvn: FETCH_KAFKA.replace('ROOT', root),
    npm: '',
  });
  const settings = {
    HTTPS_PROXY: 'http://proxy.example:3128',
    NO_PROXY: 'localhost',
    NODE_EXTRA_CA_CERTS: certificate,
    MAVEN_OPTS: '-Xmx256m',
  };
  await using command = spawnSetup(['node', '-p', 'JSON.stringify(process.env)'], {
    ...BARE,
    ...settings,
    PATH,
    npm_execpath: '',
  });
  expect(await command.exited).toBe(0);
  expect(JSON.parse(command.stdout())).toMatchObject(settings);
  for (const program of ['npm', 'mvn'])
    for (const name of ['HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'] as const)
      expect(environmentOf(program)).toContain(`${name}=${settings[name]}\n`);
  expect(environmentOf('mvn')).toContain('MAVEN_OPTS=-Xmx256m @');
  const options = readFileSync(join(root, 'java.options'), 'utf8');
  expect(options).toContain('"-Dhttps.proxyHost=proxy.example"');
  expect(options).toContain(
    `"-Djavax.net.ssl.trustStore=${join(root, 'cache', 'rolecall', 'certificates.jks')}"`,
  );
});

test('apt gets the proxy in lower case, and the certificates unless it has its own', async () => {
  const PATH = writePrograms({ 'apt-get': `echo "$@" >>'${root}/words'`, 'apt-config': '' });
  const script = `
    const { aptGet } = await import('${join(LOCAL, 'setup', 'tools', 'apt.mjs')}');
    await aptGet({ certificates: { pem: '/cache/certificates.pem' } }, ['update', '-q']);`;
  await using command = spawnProgram(process.execPath, ['--input-type=module', '-e', script], {
    PATH,
    HTTP_PROXY: 'http://proxy.example:3128',
    http_proxy: '',
  });
  expect(await command.exited).toBe(0);
  expect(environmentOf('apt-get')).toContain('http_proxy=http://proxy.example:3128\n');
  expect(readFileSync(join(root, 'words'), 'utf8')).toBe(
    '-o Acquire::https::CAInfo=/cache/certificates.pem update -q\n',
  );
});

test('npm ci reports its progress', async () => {
  writeFileSync(join(root, 'package-lock.json'), JSON.stringify(LOCKFILE));
  mkdirSync(join(root, 'node_modules', 'a'));
  writeFileSync(join(root, 'node_modules', 'a', 'package.json'), '{}');
  const script = `
    const folder = '${join(root, 'deploy', 'local', 'setup')}';
    const { countPackages } = await import(folder + '/tools/install-packages.mjs');
    const { locate } = await import(folder + '/tools/locate.mjs');
    const { run } = await import(folder + '/run.mjs');
    const progress = { what: 'npm ci', howFar: countPackages(locate()), intervalMs: 20 };
    await run('sh', ['-c', 'read line <"$0"', process.argv[1]], { progress });`;
  const gate = join(root, 'gate');
  spawnSync('mkfifo', [gate]);
  await using command = spawnProgram(process.execPath, ['--input-type=module', '-e', script, gate]);
  await waitUntil('a line of progress', () => /npm ci: \d+ s, 1 of 2 packages/.test(command.stderr()));
  writeFileSync(gate, '\n');
  expect(await command.exited).toBe(0);
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
  ['the packages of the lockfile are installed, but for another platform’s', { a: '1.0.0' }, true],
  ['a package has another version', { a: '1.0.1' }, false],
  ['an optional package has another version', { a: '1.0.0', b: '1.0.0' }, false],
  ['a package is not there', { b: '2.0.0' }, false],
])('packages: %s', async (_, installed, expected) => {
  const packages = Object.entries(installed).map(([name, version]) => [`node_modules/${name}`, { version }]);
  const file = join(root, 'node_modules', '.package-lock.json');
  writeFileSync(file, JSON.stringify({ packages: Object.fromEntries(packages) }));
  const folder = join(root, 'deploy', 'local', 'setup');
  const script = `
    const { packagesAreInstalled } = await import('${folder}/tools/install-packages.mjs');
    const { locate } = await import('${folder}/tools/locate.mjs');
    console.log(packagesAreInstalled(locate()));`;
  await using command = spawnProgram(process.execPath, ['--input-type=module', '-e', script]);
  await command.exited;
  expect(command.stdout().trim()).toBe(String(expected));
});
