import { join } from 'node:path';
import type { CommonConfig } from '#shared/config.ts';
import { spawnNode } from './spawn-process.ts';
import { SECRET_KEYS } from './start-portal.ts';

export type AdminAnswer = {
  readonly exitCode: number | string;
  readonly stdout: string;
  readonly stderr: string;
  /** The parsed output: of stdout, or of stderr if the command failed and printed nothing else. */
  readonly value: unknown;
};

/** Runs the operator's command of a checkout (default: this one) as a process, with `--json`. */
export async function runAdmin(
  args: readonly string[],
  { env = {}, root = '' }: { readonly env?: Readonly<Record<string, string>>; readonly root?: string } = {},
): Promise<AdminAnswer> {
  const file = join(root, 'services/developer-portal/admin/main.ts');
  // An export is as long as the system is large.
  const outputCharsMax = Number.POSITIVE_INFINITY;
  await using command = spawnNode([file, ...args, '--json'], env, { outputCharsMax });
  const exitCode = await command.exited;
  const [stdout, stderr] = [command.stdout(), command.stderr()];
  return { exitCode, stdout, stderr, value: parse(stdout || stderr) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The operator's command on the infrastructure of a test. */
export const makeAdmin =
  (config: CommonConfig) =>
  async (...args: readonly string[]) => {
    const { exitCode, value } = await runAdmin(args, {
      env: {
        KAFKA_BROKERS: config.kafka.brokers.join(','),
        REDIS_URL: config.redis.url,
        ROLECALL_SECRET_KEYS: SECRET_KEYS,
      },
    });
    return { exitCode, value: value as Record<string, unknown> };
  };
