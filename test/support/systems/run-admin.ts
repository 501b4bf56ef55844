import type { CommonConfig } from '#shared/config.ts';
import { spawnNode } from './spawn-process.ts';
import { SECRET_KEYS } from './start-portal.ts';

/** Makes a function that runs the operator's command as a process and returns its exit code and its JSON output. */
export const makeAdmin =
  (config: CommonConfig) =>
  async (...args: readonly string[]) => {
    await using command = spawnNode(['services/developer-portal/admin/main.ts', ...args, '--json'], {
      KAFKA_BROKERS: config.kafka.brokers.join(','),
      REDIS_URL: config.redis.url,
      ROLECALL_SECRET_KEYS: SECRET_KEYS,
    });
    const exitCode = await command.exited;
    const text = exitCode === 0 ? command.stdout() : command.stderr();
    return { exitCode, value: JSON.parse(text) as Record<string, unknown> };
  };
