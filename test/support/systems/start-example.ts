import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { waitUntil } from '../wait-until.ts';
import type { ClientProject } from './client-project.ts';

/** An example that listens. */
export type RunningExample = Disposable & {
  readonly url: string;
  readonly printed: () => string;
  /** Resolved once its process is gone. */
  readonly ended: Promise<unknown>;
};

/** Starts an example of `test/e2e/examples` in a user's project, unchanged. */
export async function startExample(
  project: ClientProject,
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<RunningExample> {
  const path = project.copy(`test/e2e/examples/${name}`);
  const child = spawn(process.execPath, [path], {
    cwd: project.folder,
    env: { ...process.env, NODE_OPTIONS: '', PORT: '0', HOST: '127.0.0.1', ...env },
  });
  const ended = once(child, 'close');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk));
  const port = await waitUntil('the example to listen', async () => {
    if (child.exitCode !== null) {
      // Only then all that it printed was read.
      await ended;
      throw new Error(`${name} ended: ${printed}`);
    }
    return /listening on port (\d+)/.exec(printed)?.[1];
  });
  return {
    url: `http://127.0.0.1:${port}`,
    printed: () => printed,
    ended,
    [Symbol.dispose]: () => void child.kill('SIGKILL'),
  };
}
