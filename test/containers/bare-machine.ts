import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnProgram } from '../support/systems/spawn-process.ts';
import { runDocker } from './docker.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROJECT = '/home/rolecall';
const PULL_TIMEOUT_MS = 120_000;
/** The variables that a machine behind a proxy sets; both spellings of the first three are in
 * use. */
const NETWORK_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'MAVEN_OPTS'];
const CERTIFICATES = '/etc/rolecall-certificates.pem';

export type Finished = {
  readonly exitCode: number | string;
  readonly seconds: number;
  readonly stdout: string;
  readonly stderr: string;
};

export type BareMachine = AsyncDisposable & {
  /** Runs a command in the project's directory, to its end. */
  readonly run: (...command: string[]) => Promise<Finished>;
};

/** Why an image is not available, or undefined if it is here or can be pulled. */
export function whyMissing(image: string): string | undefined {
  if (spawnSync('docker', ['image', 'inspect', image]).status === 0) return undefined;
  const pull = spawnSync('docker', ['pull', '--quiet', image], {
    encoding: 'utf8',
    timeout: PULL_TIMEOUT_MS,
  });
  if (pull.status === 0) return undefined;
  return pull.stderr?.trim().split('\n').pop() || pull.error?.message || 'docker pull failed';
}

/**
 * Starts a container of an image that contains only Node, with a checkout of the project: no
 * packages, no cache. It gets this machine's proxy and certificates. Disposal removes it.
 */
export async function startBareMachine(image: string): Promise<BareMachine> {
  await using stack = new AsyncDisposableStack();
  const id = (
    await runDocker(['run', '--detach', '--init', ...networkOptions(), image, 'sleep', 'infinity'])
  ).trim();
  stack.defer(async () => void (await runDocker(['rm', '--force', '--volumes', id])));
  await copyProject(id);
  const kept = stack.move();
  return {
    async run(...command) {
      const began = performance.now();
      await using child = spawnProgram('docker', ['exec', '--workdir', PROJECT, id, ...command]);
      const exitCode = await child.exited;
      const seconds = Math.round((performance.now() - began) / 1000);
      return { exitCode, seconds, stdout: child.stdout(), stderr: child.stderr() };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function networkOptions(): string[] {
  const names = NETWORK_VARIABLES.flatMap((name) => [name, name.toLowerCase()]).filter(
    (name) => process.env[name],
  );
  const extra = process.env['NODE_EXTRA_CA_CERTS'];
  return [
    ...names.flatMap((name) => ['--env', name]),
    ...(extra && existsSync(extra)
      ? ['--volume', `${extra}:${CERTIFICATES}:ro`, '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`]
      : []),
  ];
}

/** Every file that git tracks or would add. */
async function copyProject(id: string): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'rolecall-bare-'));
  try {
    const archive = join(dir, 'project.tar');
    const pack =
      'git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -cf "$0" -T -';
    const { status, stderr } = spawnSync('sh', ['-c', pack, archive], { cwd: ROOT, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the project could not be packed: ${stderr}`);
    await runDocker(['cp', archive, `${id}:/project.tar`]);
    await runDocker([
      'exec',
      id,
      'sh',
      '-c',
      `mkdir ${PROJECT} && tar -xf /project.tar -C ${PROJECT} --no-same-owner`,
    ]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
