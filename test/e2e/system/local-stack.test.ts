// The starter itself: which starts it refuses, and that none of its processes outlives it, however
// and whenever it ends. Each test has its own data directory and ports, or names the ones that it
// shares.
import { rmSync } from 'node:fs';
import {
  identify,
  isRunning,
  type ProcessIdentity,
} from '../../../deploy/local/processes/process-identity.ts';
import { isPortFree } from '../../../deploy/local/settings/ports.ts';
import { readSystemFile } from '../../../deploy/local/system/system-file.ts';
import { demoRules } from '../../support/builders/demo-rules.ts';
import { makeDataDir } from '../../support/infrastructure/make-data-dir.ts';
import { type SpawnedProcess, spawnNode } from '../../support/systems/spawn-process.ts';
import { type StartedSystem, startSystem } from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const directories: string[] = [];
const newDirectory = (): string => {
  const dir = makeDataDir('stack');
  directories.push(dir);
  return dir;
};

/** Shared until a test ends it; later tests start their own. */
let system: StartedSystem;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  for (const dir of directories) rmSync(dir, { recursive: true, force: true });
});

type Start = { readonly portBase: number; readonly data: string; readonly args?: readonly string[] };

/** Starts as `npm start` does, set-up included, and does not wait until it is ready. */
const spawnStarter = (
  { portBase, data, args = [] }: Start,
  env: Record<string, string> = {},
): SpawnedProcess => {
  const start = ['deploy/local/setup.mjs', 'node', 'deploy/local/start.ts', '--json', '--no-demo'];
  return spawnNode([...start, '--port-base', String(portBase), '--data', data, ...args], env);
};

/** Every process that a starter recorded, itself and its watchdog included. */
function processesOf(dataDir: string): ProcessIdentity[] {
  const file = readSystemFile(dataDir);
  return file ? [file.starter, ...file.identities] : [];
}

const untilGone = (processes: readonly ProcessIdentity[]): Promise<unknown> =>
  waitUntil('the end of every process', () => !processes.some(isRunning));

const bases = new Set<number>();
/** A base whose first ports are unused: far enough above the shared system's. Each is given once. */
async function findFreeBase(): Promise<number> {
  return waitUntil('free ports', async () => {
    const base = 12_000 + 100 * Math.floor(Math.random() * 80);
    if (bases.has(base)) return false;
    bases.add(base);
    const needed = [0, 1, 2, 3, 4, 5, 40, 41, 42, 43, 44].map((offset) => base + offset);
    return (await Promise.all(needed.map(isPortFree))).every(Boolean) && base;
  });
}

test('a second system on the same directory is refused by the name of the first, which keeps running', async () => {
  await using second = spawnStarter({ portBase: await findFreeBase(), data: system.dataDir });
  expect(await second.exited).toBe(1);
  expect(second.stderr()).toMatch(/a system already runs in .* \(process \d+\)/);
  expect(second.stdout()).toBe('');
  const answer = await system.client.check({
    account: system.chain.holder,
    rules: [demoRules(system.chain).erc20()],
  });
  expect(answer.status).toBe(200);
});

test('all ports in use are named with their purpose, and nothing is started', async () => {
  const data = newDirectory();
  await using second = spawnStarter({ portBase: system.portBase, data });
  expect(await second.exited).toBe(1);
  for (const what of ['Kafka', 'Redis', 'the demo chain', 'gateway', 'evaluator, ops'])
    expect(second.stderr()).toMatch(new RegExp(`\\d+ \\(${what}`));
  expect(readSystemFile(data)).toBeUndefined();
});

test('a killed chain comes back with the same contracts, and checks continue', async () => {
  const check = { account: system.chain.holder, rules: [demoRules(system.chain).erc20()] };
  const before = await system.client.check(check);
  await system.kill('chain');
  const after = await waitUntil('a decided check', async () => {
    const answer = await system.client.check(check);
    // No rule is decided until the contracts are deployed again, and a retry would not help: 200
    // `failed`.
    return answer.status === 200 && answer.body.status === 'completed' && answer;
  });
  expect(after.body.roles).toEqual(before.body.roles);
});

test('the operator’s command finds the new process of a part that was killed', async () => {
  const [before] = system.pidsOf('result-store');
  await system.kill('result-store');
  const { value } = await system.admin('status');
  const { processes } = value as { processes: { service: string; pid: number; ops: string | null }[] };
  const after = processes.find(({ service }) => service === 'result-store');
  expect(after?.pid).not.toBe(before);
  expect(
    processes
      .filter(({ ops }) => ops === null)
      .map(({ service }) => service)
      .sort(),
  ).toEqual(['chain', 'kafka', 'redis']);
});

test('every process ends when the starter is killed -9, and the next start continues with its directory', async () => {
  const { dataDir: data, portBase } = system;
  const before = processesOf(data);
  expect(before.length).toBeGreaterThan(8);
  process.kill(system.starterPid, 'SIGKILL');
  await untilGone(before);

  // The system becomes ready with fewer processes too, as long as the gateway runs.
  const none = ['--evaluators', '0', '--result-stores', '0', '--dispatchers', '0'];
  await using starter = spawnStarter({ portBase, data, args: none });
  const line = await waitUntil('the ready line', () => starter.stdout().includes('\n') && starter.stdout());
  expect(JSON.parse(line)).toMatchObject({ event: 'ready', app: system.ready.app });
  const processes = [...processesOf(data), identify(starter.pid)];
  // The launcher passes SIGINT on, as it must when only npm's process gets the signal.
  expect(await starter.kill('SIGINT')).toBe(0);
  expect(processes.filter(isRunning)).toEqual([]);
  expect(starter.stdout().trim().split('\n')).toHaveLength(1);
});

test('every process ends when the launcher is killed -9 and cannot tell the starter', async () => {
  const start = { portBase: await findFreeBase(), data: newDirectory() };
  await using starter = spawnStarter(start);
  await waitUntil('the first services', () => starter.stderr().includes('starting gateway'));
  const processes = processesOf(start.data);
  expect(processes.length).toBeGreaterThan(4);
  await starter.kill('SIGKILL');
  await untilGone(processes);
});

test('Ctrl-C at each moment of a start ends it with exit 0 and leaves no process behind', async () => {
  await Promise.all(['starting kafka', 'redis is up', 'kafka is up', 'starting gateway'].map(expectToEndAt));
});

async function expectToEndAt(moment: string): Promise<void> {
  const start = { portBase: await findFreeBase(), data: newDirectory() };
  await using starter = spawnStarter(start);
  await waitUntil(moment, () => starter.stderr().includes(moment));
  const processes = processesOf(start.data);
  expect(await starter.kill('SIGINT')).toBe(0);
  // On a busy machine the system may have become ready before the signal came.
  expect(starter.stdout()).toMatch(/^(\{"event":"ready".*\}\n)?$/);
  expect(processes.filter(isRunning)).toEqual([]);
  const ports = [0, 2, 3, 4, 5, 40].map((offset) => start.portBase + offset);
  expect(await Promise.all(ports.map(isPortFree))).toEqual(ports.map(() => true));
}

test('a start that fails half-way exits 1, names the wrong variable without its value, and leaves no process behind', async () => {
  const start = { portBase: await findFreeBase(), data: newDirectory() };
  await using starter = spawnStarter(start, { RESULT_STORE_WINDOW: 'sh0uldN0tBeShown' });
  const processes = await waitUntil('the first processes', () => {
    const found = processesOf(start.data);
    return found.length > 2 && found;
  });
  expect(await starter.exited).toBe(1);
  expect(starter.stderr()).toContain('RESULT_STORE_WINDOW');
  expect(starter.stderr()).not.toContain('sh0uldN0tBeShown');
  expect(starter.stderr()).toContain('result-store ended 3 times before it was ready');
  expect(starter.stdout()).toBe('');
  expect(processes.filter(isRunning)).toEqual([]);
  expect(readSystemFile(start.data)).toBeUndefined();
});
