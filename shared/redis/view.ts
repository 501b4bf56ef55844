import type { Redis } from './connect.ts';
import { inStore } from './connect.ts';
import { LUA_NOW, LUA_RUN, READ_VIEW_STATE, VIEW_KEYS, VIEW_STATE_KEYS } from './fence.ts';
import { makeScript, REQUIRE_VIEW } from './script.ts';

/** Present while the views are complete. It is missing from an empty Redis, and all processes hold
 * their work until it is back. */
export const GENERATION_KEY: string = VIEW_KEYS.marker;
const REBUILD_LOCK_MS = 30_000;

/**
 * Ends a script if Redis is at its bound. Redis compares with the bound only at the first write of a
 * script, and not if that is one that frees memory, such as LPOP: the others would be carried out.
 * Writing nothing into the marker counts as one that may need memory.
 */
export const LUA_REQUIRE_ROOM = `
redis.call('SETRANGE', ofSystem('${GENERATION_KEY}'), 0, '')
`;

/** Stored bytes that one reply of Redis carries where documents are listed; one document always
 * fits. */
export const PAGE_BYTES_MAX = 1024 * 1024;

/** KEYS: lock, marker, outdated marker, run, last look, end of the charges, positions, instant before
 * which nonces are void. ARGV: token, time, positions. */
const FINISH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
${LUA_RUN}
if run then redis.call('SET', KEYS[4], run) end
${LUA_NOW}
redis.call('SET', KEYS[5], now)
redis.call('SET', KEYS[6], now)
redis.call('SET', KEYS[8], now)
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[7], ARGV[i], ARGV[i + 1]) end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1], KEYS[3])
return 1
`;

/** KEYS: last look, end of the charges, positions. */
const READ_LAST = `${REQUIRE_VIEW}
return { redis.call('GET', KEYS[1]) or '', redis.call('GET', KEYS[2]) or '', redis.call('HGETALL', KEYS[3]) }
`;

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`;

const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

/** By `topic/partition`, the offset below which every record is in the views. */
export type Positions = ReadonlyMap<string, number>;

export type LastSeen = {
  /** Epoch ms of Redis's clock; undefined if the views were never complete. */
  readonly atMs: number | undefined;
  /** Charges of checks that were accepted until then are in the counters. */
  readonly chargedUntilMs: number;
  readonly positions: Positions;
};

/** The state of all views together: complete, outdated or missing. */
export function makeViewState(redis: Redis) {
  const renew = makeScript<number>(redis, RENEW);
  const release = makeScript<number>(redis, RELEASE);
  const readState = makeScript<'complete' | 'outdated' | 'missing'>(redis, READ_VIEW_STATE);
  const readLast = makeScript<[string, string, string[]]>(redis, READ_LAST);
  const finish = makeScript<number>(redis, FINISH);
  return {
    isComplete: (): Promise<boolean> => inStore(async () => (await redis.exists(GENERATION_KEY)) === 1),
    /** Takes the rebuild lock; undefined if another process has it. */
    lock: (token: string): Promise<boolean> =>
      inStore(async () => (await redis.set(VIEW_KEYS.lock, token, 'PX', REBUILD_LOCK_MS, 'NX')) === 'OK'),
    renewLock: async (token: string): Promise<boolean> =>
      (await renew([VIEW_KEYS.lock], [token, REBUILD_LOCK_MS])) === 1,
    /** Frees the lock if it still has this token: for a rebuild that failed. */
    releaseLock: async (token: string): Promise<void> => void (await release([VIEW_KEYS.lock], [token])),
    /**
     * `outdated` if the server's run id has changed since the views were complete. Then, and if the
     * marker is `missing`, all processes hold their work. Stores the time of the read while the
     * views are complete.
     */
    readState: (): Promise<'complete' | 'outdated' | 'missing'> => readState(VIEW_STATE_KEYS, ['1']),
    /** The recorded state of an outdated Redis, for the holder of the lock. */
    async readLast(): Promise<LastSeen> {
      const keys = [VIEW_KEYS.seenAt, VIEW_KEYS.chargedUntil, VIEW_KEYS.positions];
      const [atMs, chargedUntilMs, flat] = await readLast(keys, []);
      const positions = new Map<string, number>();
      for (let i = 0; i < flat.length; i += 2) positions.set(flat[i] ?? '', Number(flat[i + 1]));
      return {
        atMs: atMs === '' ? undefined : Number(atMs),
        chargedUntilMs: Number(chargedUntilMs),
        positions,
      };
    },
    /** Declares the views complete up to these positions and frees the lock; false if the lock was
     * lost. */
    async finish(token: string, positions: Positions = new Map()): Promise<boolean> {
      const { lock, marker, outdated, run, seenAt, chargedUntil, positions: at, noncesNotBefore } = VIEW_KEYS;
      const keys = [lock, marker, outdated, run, seenAt, chargedUntil, at, noncesNotBefore];
      return (await finish(keys, [token, new Date().toISOString(), ...[...positions].flat()])) === 1;
    },
    /** Removes the marker, so that all processes hold their work until a rebuild: the operator's
     * `store rebuild`. */
    invalidate: (): Promise<void> =>
      inStore(async () => void (await redis.del(GENERATION_KEY, VIEW_KEYS.outdated))),
  };
}

export type ViewState = ReturnType<typeof makeViewState>;

/** Renew the lock this often. */
export const REBUILD_LOCK_RENEW_MS = REBUILD_LOCK_MS / 6;
