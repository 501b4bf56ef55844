import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

type BenchChild = AsyncDisposable & { readonly pid: number; readonly url: string };

/** Starts a program of `test/bench`, which sends its port in its first message. */
export async function startChild(file: string, args: readonly string[] = []): Promise<BenchChild> {
  const child = fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), [...args]);
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${file} ended before it listened`);
  });
  const [port] = (await Promise.race([once(child, 'message'), ended])) as [number];
  ended.catch(() => undefined);
  return {
    pid: child.pid ?? 0,
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const gone = once(child, 'exit');
      if (child.exitCode === null && child.kill('SIGKILL')) await gone;
    },
  };
}
