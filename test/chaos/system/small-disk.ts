import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CHUNK_BYTES = 1024 * 1024;

export type SmallDisk = Disposable & {
  readonly dir: string;
  /** Fills the disk completely. */
  readonly fill: () => void;
  readonly free: () => void;
};

/**
 * A small disk in memory that can be filled.
 *
 * @throws Error if this user may not mount one
 */
export function mountSmallDisk(dir: string, mib: number): SmallDisk {
  mkdirSync(dir, { recursive: true });
  const run = (program: string, ...args: string[]): void => {
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${program} ${dir}: ${stderr.trim()} (a small disk needs root)`);
  };
  run('mount', '-t', 'tmpfs', '-o', `size=${mib}m`, 'rolecall-chaos', dir);
  const ballast = join(dir, 'ballast');
  return {
    dir,
    fill() {
      const { bavail, bsize } = statfsSync(dir);
      const chunk = Buffer.alloc(CHUNK_BYTES);
      try {
        for (let left = bavail * bsize; left >= 0; left -= CHUNK_BYTES)
          writeFileSync(ballast, chunk, { flag: 'a' });
        for (;;) writeFileSync(ballast, chunk.subarray(0, bsize), { flag: 'a' });
      } catch {
        // The disk is full, as intended.
      }
    },
    free: () => rmSync(ballast, { force: true }),
    [Symbol.dispose]: () => run('umount', '-l', dir),
  };
}
