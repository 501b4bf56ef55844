import { inStore, type Redis } from './connect.ts';
import { LUA_NOW, LUA_RUN, READ_VIEW_STATE, VIEW_KEYS, VIEW_STATE_KEYS } from './fence.ts';
import { makeHolds } from './holds.ts';
import { makeScript, pairsOf, REQUIRE_VIEW } from './script.ts';

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

/** KEYS: marker, run, last look, opening, instant before which nonces are void. ARGV: time. */
const OPEN = `${REQUIRE_VIEW}
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
${LUA_RUN}
${LUA_NOW}
if run then redis.call('SET', KEYS[2], run) end
for i = 3, 5 do redis.call('SET', KEYS[i], now) end
redis.call('SET', KEYS[1], ARGV[1])
return 1
`;

/** KEYS: opening, positions, lock. ARGV: positions. */
const FINISH = `${REQUIRE_VIEW}
for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1]) end
redis.call('DEL', KEYS[1], KEYS[3])
return 1
`;

/** KEYS: last look, positions. ARGV: the oldest look that counts. */
const READ_LAST = `${REQUIRE_VIEW}
local seenAt = tonumber(redis.call('GET', KEYS[1]) or '0')
if seenAt < tonumber(ARGV[1]) then redis.call('DEL', KEYS[1], KEYS[2]) end
return { string.format('%.0f', seenAt), redis.call('HGETALL', KEYS[2]) }
`;

/** By `topic/partition`, the offset below which every record is in the views. */
export type Positions = ReadonlyMap<string, number>;

export type ViewStateName = 'missing' | 'open' | 'complete';

/** The state of all views together, and the steps of a replay (`shared/stores/replay/README.md`). */
export function makeViewState(redis: Redis) {
  const holds = makeHolds(redis);
  const readState = makeScript<ViewStateName>(redis, READ_VIEW_STATE);
  const readLast = makeScript<[string, string[]]>(redis, READ_LAST);
  const open = makeScript<number>(redis, OPEN);
  const finish = makeScript<number>(redis, FINISH);
  const { marker, run, lock, seenAt, openedAt, noncesNotBefore, positions } = VIEW_KEYS;
  return {
    /** Takes the rebuild lock; false if another process has it. */
    lock: (token: string): Promise<boolean> => holds.take(lock, token, REBUILD_LOCK_MS),
    renewLock: (token: string): Promise<boolean> => holds.keep(lock, token, REBUILD_LOCK_MS),
    /** Frees the lock if it still has this token: for a replay that failed. */
    releaseLock: (token: string): Promise<void> => holds.release(lock, token),
    /**
     * `missing` in an empty Redis, and once the server's run id has changed since the views were
     * complete: all processes hold their work. Stores the time of the read while the system is
     * open.
     */
    readState: (): Promise<ViewStateName> => readState(VIEW_STATE_KEYS, ['1']),
    /**
     * For a replay: when the system was last seen open, and the positions of the views then. The
     * positions are forgotten if that was before `sinceMs`.
     */
    async readLast(sinceMs: number): Promise<{ readonly seenAtMs: number; readonly positions: Positions }> {
      const [atMs, flat] = await readLast([seenAt, positions], [sinceMs]);
      const offsets = pairsOf(flat).map(([name, offset]) => [name, Number(offset)] as const);
      return { seenAtMs: Number(atMs), positions: new Map(offsets) };
    },
    /** For a replay: lets all processes work, unless they do. */
    async open(): Promise<void> {
      const keys = [marker, run, seenAt, openedAt, noncesNotBefore];
      await open(keys, [new Date().toISOString()]);
    },
    /** For a replay: declares the views complete up to these positions, and frees the lock. */
    finish: async (ends: Positions = new Map()): Promise<void> =>
      void (await finish([openedAt, positions, lock], [...ends].flat())),
    /** Has everything read again from the beginning, and all processes hold their work until then:
     * the operator's `store rebuild`. */
    invalidate: (): Promise<void> =>
      inStore(async () => void (await redis.del(marker, seenAt, openedAt, positions))),
  };
}

export type ViewState = ReturnType<typeof makeViewState>;

export const REBUILD_LOCK_RENEW_MS = REBUILD_LOCK_MS / 6;
