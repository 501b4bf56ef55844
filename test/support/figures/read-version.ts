import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** The first line that a command prints, or `unknown`. */
export function firstLineOf(command: string, args: readonly string[], argv0 = command): string {
  const { stdout } = spawnSync(command, args, { encoding: 'utf8', argv0 });
  return stdout?.split('\n')[0] || 'unknown';
}

/** The commit whose code runs, with `-dirty` if files differ from it. */
export const readCommit = (): string =>
  firstLineOf('git', ['-C', ROOT, 'describe', '--always', '--dirty', '--exclude', '*']);
