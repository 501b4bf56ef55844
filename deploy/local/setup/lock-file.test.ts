import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawnNode } from '../../../test/support/systems/spawn-process.ts';
import { claimLock, readLock, releaseLock } from './lock-file.js';

let dir: string;
let lock: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'rolecall-lock-'));
  lock = join(dir, 'setup.lock');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const isHeld = (text: string): boolean => text !== 'dead';

test('a lock is held by one, released by its holder alone, and leaves nothing', () => {
  expect(claimLock(lock, 'first', isHeld)).toBe(true);
  expect(claimLock(lock, 'second', isHeld)).toBe(false);
  releaseLock(lock, 'second');
  expect(readLock(lock)).toBe('first');
  releaseLock(lock, 'first');
  expect(readdirSync(dir)).toEqual([]);
});

test('of processes that found a dead holder at once, one takes its lock over', () => {
  writeFileSync(lock, 'dead');
  const claims: Record<string, boolean> = {};
  // The first one looks at the dead holder; meanwhile the second takes its lock over, and a third asks.
  const meanwhile = (text: string): boolean => {
    if (text === 'dead' && claims['second'] === undefined) {
      claims['second'] = claimLock(lock, 'second', isHeld);
      claims['third'] = claimLock(lock, 'third', isHeld);
    }
    return isHeld(text);
  };
  claims['first'] = claimLock(lock, 'first', meanwhile);
  expect(claims).toEqual({ second: true, third: false, first: false });
  expect(readLock(lock)).toBe('second');
  expect(readdirSync(dir)).toEqual(['setup.lock']);
});

test('a process that takes a lock over never leaves it free for another one', () => {
  writeFileSync(lock, 'dead');
  const seen = jest.fn((text: string) => {
    if (text !== 'dead') return true;
    // Whatever is looked at, somebody else has no chance to make the lock.
    expect(readLock(lock)).toBeDefined();
    return false;
  });
  expect(claimLock(lock, 'first', seen)).toBe(true);
  expect(claimLock(lock, 'second', seen)).toBe(false);
  expect(seen).toHaveBeenCalled();
});

test('a process that died while it took a lock over is followed by another one', () => {
  for (const file of [lock, `${lock}.next`]) writeFileSync(file, 'dead');
  expect(claimLock(lock, 'first', isHeld)).toBe(true);
  expect([readLock(lock), readdirSync(dir)]).toEqual(['first', ['setup.lock']]);
});

test('one set-up at a time runs, although several found the lock of a process that is no more', async () => {
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
  const setUps = [1, 2, 3, 4].map(() => spawnNode(['--input-type=module', '-e', script, dir]));
  const ended = await Promise.all(
    setUps.map(async (setUp) => ({ exitCode: await setUp.exited, isAlone: !/EEXIST/.test(setUp.stderr()) })),
  );
  expect(ended).toEqual(setUps.map(() => ({ exitCode: 0, isAlone: true })));
  expect(readdirSync(dir)).toEqual(['running']);
});
