import type { RedisConnection } from '#shared/redis/connect.ts';

/** Everything a Redis database holds, names and values, as text to be searched. */
export async function dumpRedis({ redis }: RedisConnection): Promise<string> {
  const readers: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
    list: (key) => redis.lrange(key, 0, -1),
  };
  const keys = await redis.keys('*');
  const lines = await Promise.all(
    keys.map(async (key) => {
      const type = await redis.type(key);
      // It expired in the meantime.
      if (type === 'none') return '';
      const read = readers[type];
      if (!read) throw new Error(`${key} is a ${type}, which cannot be searched`);
      return `${key} ${JSON.stringify(await read(key))}`;
    }),
  );
  return lines.join('\n');
}
