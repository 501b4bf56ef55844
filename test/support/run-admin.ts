import type { CommonConfig } from '#shared/config.ts';
import { spawnNode } from './spawn-process.ts';
import { SECRET_KEYS } from './start-portal.ts';

/** Makes what runs the operator's command as a process of its own: its exit code, and what it printed as JSON. */
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
