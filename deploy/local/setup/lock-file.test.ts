import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnNode } from '../../../test/support/systems/spawn-process.ts';
import { claimLock, releaseLock, removeStaleLock } from './lock-file.js';

let dir: string;
let lock: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rolecall-lock-'));
  lock = join(dir, 'setup.lock');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test('of two processes that found a dead holder, the second leaves the lock that the first has taken', () => {
  const isHeld = (text: string) => text !== 'dead';
  claimLock(lock, 'dead');
  removeStaleLock(lock, isHeld);
  expect(claimLock(lock, 'first')).toBe(true);
  removeStaleLock(lock, isHeld);
  expect(claimLock(lock, 'second')).toBe(false);
  releaseLock(lock, 'second');
  expect(readFileSync(lock, 'utf8')).toBe('first');
  releaseLock(lock, 'first');
  removeStaleLock(lock, isHeld);
  expect(readdirSync(dir)).toEqual([]);
});

test('one set-up at a time runs, although two found the lock of a process that is no more', async () => {
  writeFileSync(lock, String(2 ** 22 + 1));
  mkdirSync(join(dir, 'running'));
  const script = `
    import { mkdirSync, rmdirSync } from 'node:fs';
    import { setTimeout as delay } from 'node:timers/promises';
    const { withSetupLock } = await import(${JSON.stringify(join(__dirname, 'setup-lock.mjs'))});
    await withSetupLock({ cache: process.argv[1] }, async () => {
      const place = process.argv[1] + '/running/one';
      mkdirSync(place);
      await delay(50);
      rmdirSync(place);
    });`;
  const setUps = [1, 2].map(() => spawnNode(['--input-type=module', '-e', script, dir]));
  const ended = await Promise.all(
    setUps.map(async (setUp) => ({ exitCode: await setUp.exited, isAlone: !/EEXIST/.test(setUp.stderr()) })),
  );
  expect(ended).toEqual(setUps.map(() => ({ exitCode: 0, isAlone: true })));
  expect(readdirSync(dir)).toEqual(['running']);
});
