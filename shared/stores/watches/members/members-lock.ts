import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';

const lockKey = (clientId: string): string => `lock:wm:${clientId}`;

/** KEYS: lock. ARGV: holder, ms. Returns 0 if the holder has lost it. */
const KEEP_LOCK = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

/** KEYS: lock. ARGV: holder. */
const UNLOCK = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`;

/** Lets one request at a time change the members of an app's watches. */
export type MembersLock = {
  /** Holds the writes of an app's members for one writer; undefined if another one has them. */
  readonly lock: (clientId: string, holder: string, forMs: number) => Promise<boolean>;
  /** Holds them for longer; false where they are held no more. */
  readonly keepLock: (clientId: string, holder: string, forMs: number) => Promise<boolean>;
  readonly unlock: (clientId: string, holder: string) => Promise<void>;
};

export function makeMembersLock(redis: Redis): MembersLock {
  const keepLock = makeScript<number>(redis, KEEP_LOCK);
  const unlock = makeScript<number>(redis, UNLOCK);
  return {
    lock: (clientId, holder, forMs) =>
      inStore(async () => (await redis.set(lockKey(clientId), holder, 'PX', forMs, 'NX')) === 'OK'),
    keepLock: async (clientId, holder, forMs) => (await keepLock([lockKey(clientId)], [holder, forMs])) === 1,
    unlock: async (clientId, holder) => void (await unlock([lockKey(clientId)], [holder])),
  };
}
