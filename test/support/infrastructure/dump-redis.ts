import type { RedisConnection } from '#shared/redis/connect.ts';

/** Keys read at once: a command that waits behind thousands of others would exceed its time
 * limit. */
const KEYS_AT_ONCE = 50;

/** All names and values of a Redis database, as text to search in. */
export async function dumpRedis({ redis }: RedisConnection): Promise<string> {
  const readers: Readonly<Record<string, (key: string) => Promise<unknown>>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
    list: (key) => redis.lrange(key, 0, -1),
  };
  const keys = await redis.keys('*');
  const lineOf = async (key: string): Promise<string> => {
    const type = await redis.type(key);
    // The key has expired meanwhile.
    if (type === 'none') return '';
    const read = readers[type];
    if (!read) throw new Error(`${key} is a ${type}, which cannot be searched`);
    return `${key} ${JSON.stringify(await read(key))}`;
  };
  const lines: string[] = [];
  for (let at = 0; at < keys.length; at += KEYS_AT_ONCE)
    lines.push(...(await Promise.all(keys.slice(at, at + KEYS_AT_ONCE).map(lineOf))));
  return lines.join('\n');
}
