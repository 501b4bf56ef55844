import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify } from '../processes/process-identity.ts';
import { claimDataDirectory } from './data-lock.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rolecall-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('a directory is claimed once, and the refusal names the process that has it', () => {
  using _lock = claimDataDirectory(dir);
  expect(() => claimDataDirectory(dir)).toThrow(new RegExp(`process ${process.pid}`));
});

test('a released directory can be claimed again, and nothing of the lock is left', () => {
  claimDataDirectory(dir)[Symbol.dispose]();
  expect(readdirSync(dir)).toEqual([]);
  claimDataDirectory(dir)[Symbol.dispose]();
});

test('a directory that is not there yet is made', () => {
  using _lock = claimDataDirectory(join(dir, 'deep', 'er'));
});

test.each([
  ['of a process that is no more', JSON.stringify({ pid: 2 ** 22 + 1, startTicks: '1' })],
  ['of another process that had the same id', JSON.stringify({ ...identify(process.pid), startTicks: '1' })],
  ['that was cut off while it was written', '{"pid":'],
])('the lock %s is taken over', (_, text) => {
  writeFileSync(join(dir, 'starter.lock'), text);
  using _lock = claimDataDirectory(dir);
  expect(() => claimDataDirectory(dir)).toThrow('runs in');
});
