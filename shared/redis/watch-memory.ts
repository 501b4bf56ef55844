import type { Redis } from 'ioredis';
import type { RedisMemory } from '#shared/telemetry/metrics.ts';

/** How long a refusal counts when INFO does not show that Redis is full. */
const REFUSED_MS = 5_000;

/**
 * Watches whether Redis has reached its bound: it then refuses what needs memory, and answers all
 * else.
 *
 * Redis compares with its bound what INFO names `used_memory`, without the buffers for replicas and
 * for its log (`getMaxmemoryState` in Redis's evict.c).
 */
export function watchMemory(redis: Pick<Redis, 'info'>) {
  let [usedBytes, maxBytes, countedBytes] = [0, 0, 0];
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  return {
    memory: (): RedisMemory => ({ usedBytes, maxBytes }),
    /** Asks Redis; keeps the last answer where an ACL forbids it. */
    async ask(): Promise<void> {
      const info = await redis.info('memory').catch(() => '');
      const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
      if (info === '') return;
      [usedBytes, maxBytes] = [figure('used_memory'), figure('maxmemory')];
      countedBytes = usedBytes - figure('mem_not_counted_for_evict');
    },
    /** Notes an error of Redis: whether it refused a write because it is full. */
    note(error: string): void {
      if (isRefusedAsFull(error)) refusedAtMs = performance.now();
    },
    /** Whether Redis refuses writes. */
    isFull: () => (maxBytes > 0 && countedBytes > maxBytes) || performance.now() - refusedAtMs < REFUSED_MS,
  };
}

/** `OOM` is the code of the error with which Redis refuses a write at its bound. */
export const isRefusedAsFull = (error: string): boolean => error.startsWith('OOM ');
