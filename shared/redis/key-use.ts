import { inStore, type Redis } from './connect.ts';

const useKey = (clientId: string): string => `key-use:{${clientId}}`;
/** A key that nobody used for so long is shown as not used lately. */
const KEPT_MS = 400 * 86_400_000;

/** When each API key was last used. A convenience for people: it is not rebuilt after a loss. */
export type KeyUse = {
  /** `usedAtMs`: epoch ms of Redis's clock. */
  readonly note: (clientId: string, keyId: string, usedAtMs: number) => Promise<void>;
  /** ISO instants by key id. */
  readonly read: (clientId: string) => Promise<Readonly<Record<string, string>>>;
};

/**
 * @example
 * (await makeKeyUse(redis).read('app_1'))['key_1']; // '2026-11-21T10:00:00.000Z', or undefined
 */
export function makeKeyUse(redis: Redis): KeyUse {
  return {
    note: (clientId, keyId, usedAtMs) =>
      inStore(async () => {
        const key = useKey(clientId);
        await Promise.all([
          redis.hset(key, keyId, new Date(usedAtMs).toISOString()),
          redis.pexpire(key, KEPT_MS),
        ]);
      }),
    read: (clientId) => inStore(() => redis.hgetall(useKey(clientId))),
  };
}
