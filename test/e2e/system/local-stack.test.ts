// The starter itself: that none of its processes outlives it, however and whenever it ends before
// the system is ready. Each test has its own data directory and ports.
import { rmSync } from 'node:fs';
import { isPortFree } from '../../../deploy/local/settings/ports.ts';
import { readSystemFile } from '../../../deploy/local/system/system-file.ts';
import { makeDataDir } from '../../support/infrastructure/make-data-dir.ts';
import {
  findFreeBase,
  processesOf,
  runningOf,
  spawnStarter,
  untilGone,
} from '../../support/systems/start-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

const directories: string[] = [];
const newDirectory = (): string => {
  const dir = makeDataDir('stack');
  directories.push(dir);
  return dir;
};
afterAll(() => {
  for (const dir of directories) rmSync(dir, { recursive: true, force: true });
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
  expect(runningOf(processes)).toEqual([]);
  const ports = [0, 2, 3, 4, 5, 40].map((offset) => start.portBase + offset);
  expect(await Promise.all(ports.map(isPortFree))).toEqual(ports.map(() => true));
}

test('a start that fails half-way exits 1, names the wrong variable without its value, and leaves no process behind', async () => {
  const start = { portBase: await findFreeBase(), data: newDirectory() };
  await using starter = spawnStarter(start, { EVALUATOR_WINDOW: 'sh0uldN0tBeShown' });
  const processes = await waitUntil('the first processes', () => {
    const found = processesOf(start.data);
    return found.length > 2 && found;
  });
  expect(await starter.exited).toBe(1);
  expect(starter.stderr()).toContain('EVALUATOR_WINDOW');
  expect(starter.stderr()).not.toContain('sh0uldN0tBeShown');
  expect(starter.stderr()).toContain('evaluator ended 3 times before it was ready');
  expect(starter.stdout()).toBe('');
  expect(runningOf(processes)).toEqual([]);
  expect(readSystemFile(start.data)).toBeUndefined();
});
