import { KEYS_MAX } from '#shared/contracts/apps/client-app.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';

export const keyUseKey = (clientId: string): string => `key-use:{${clientId}}`;
/** A key that was unused for this long is shown as not used lately. */
const KEPT_MS = 400 * DAY_MS;
/** More than an app's document holds: beyond it most are of keys that are gone, and the record
 * starts over. */
const KEYS_NOTED_MAX = 2 * KEYS_MAX;

const NOTE = `
if redis.call('HLEN', KEYS[1]) >= ${KEYS_NOTED_MAX} then redis.call('DEL', KEYS[1]) end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return redis.call('PEXPIRE', KEYS[1], ${KEPT_MS})
`;

export function makeKeyUse(redis: Redis) {
  const note = makeScript<number>(redis, NOTE);
  return {
    /** `usedAtMs`: epoch ms of Redis's clock. */
    async note(clientId: string, keyId: string, usedAtMs: number): Promise<void> {
      await note([keyUseKey(clientId)], [keyId, new Date(usedAtMs).toISOString()]);
    },
    /** ISO instants by key id. */
    read: (clientId: string): Promise<Readonly<Record<string, string>>> =>
      inStore(() => redis.hgetall(keyUseKey(clientId))),
  };
}

/** When each API key was last used. A convenience for people: it is not rebuilt after a loss. */
export type KeyUse = ReturnType<typeof makeKeyUse>;
