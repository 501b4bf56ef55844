import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const INSTALL_TIMEOUT_MS = 60_000;

/**
 * A Python that has the packages of a requirements file, in an environment in the user's cache,
 * which is created when it is missing; `undefined` if there is no Python or no way to install
 * packages.
 */
export function findPython(requirements: string): string | undefined {
  const environment = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'rolecall', 'python');
  const python = join(environment, 'bin', 'python');
  const run = (command: string, args: readonly string[]): boolean =>
    spawnSync(command, args, { timeout: INSTALL_TIMEOUT_MS, stdio: 'ignore' }).status === 0;
  const isComplete = () => run(python, ['-c', 'import standardwebhooks, jwt, cryptography, requests']);
  if (existsSync(python) && isComplete()) return python;
  const isMade = run('python3', ['-m', 'venv', environment]);
  if (isMade && run(python, ['-m', 'pip', 'install', '--quiet', '-r', requirements]) && isComplete())
    return python;
  return undefined;
}
