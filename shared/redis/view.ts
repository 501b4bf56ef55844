import type { Redis } from './connect.ts';
import { inStore } from './connect.ts';
import { makeScript } from './script.ts';

/**
 * Present while the views are whole. A Redis that starts empty lacks it, and everybody holds until it is back. The
 * number in its name is raised where the views changed their form, so that they are made anew.
 */
export const GENERATION_KEY = 'view:generation:3';
/** Held by the one process that rebuilds. */
const REBUILD_LOCK_KEY = 'view:rebuild-lock';
const REBUILD_LOCK_MS = 30_000;

/**
 * The line every script that reads or writes a view begins with. The marker is its first key.
 *
 * A rebuilder passes its lock's token as the first argument instead: it may write while there is no marker, and
 * only while it holds the lock, so that a Redis wiped again in mid-rebuild is not declared whole.
 */
export const REQUIRE_VIEW = `
if ARGV[1] == '' then
  if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('VIEW_REBUILDING') end
elseif redis.call('GET', '${REBUILD_LOCK_KEY}') ~= ARGV[1] then
  return redis.error_reply('VIEW_REBUILDING the rebuild lock is lost')
end
`;

/** Empty for everyday work, the lock's token for a rebuilder. */
export type ViewAccess = string;
export const EVERYDAY: ViewAccess = '';

const FINISH = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
redis.call('DEL', KEYS[1])
return 1
`;

const RELEASE = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1
`;

const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`;

export type ViewState = {
  readonly isWhole: () => Promise<boolean>;
  /** Takes the rebuild lock; undefined where another process has it. */
  readonly lock: (token: string) => Promise<boolean>;
  readonly renewLock: (token: string) => Promise<boolean>;
  /** Frees the lock if it still has this token: for a rebuild that failed. */
  readonly releaseLock: (token: string) => Promise<void>;
  /** Declares the views whole and frees the lock; false where the lock was lost. */
  readonly finish: (token: string) => Promise<boolean>;
  /** Takes the marker away, so that everybody holds until a rebuild: the operator's `store rebuild`. */
  readonly invalidate: () => Promise<void>;
};

/** The state of the views as a whole: rebuilt or being rebuilt. */
export function makeViewState(redis: Redis): ViewState {
  const renew = makeScript<number>(redis, 'renewRebuildLock', RENEW);
  const release = makeScript<number>(redis, 'releaseRebuildLock', RELEASE);
  const finish = makeScript<number>(redis, 'finishRebuild', FINISH);
  return {
    isWhole: () => inStore(async () => (await redis.exists(GENERATION_KEY)) === 1),
    lock: (token) =>
      inStore(async () => (await redis.set(REBUILD_LOCK_KEY, token, 'PX', REBUILD_LOCK_MS, 'NX')) === 'OK'),
    renewLock: async (token) => (await renew([REBUILD_LOCK_KEY], [token, REBUILD_LOCK_MS])) === 1,
    releaseLock: async (token) => void (await release([REBUILD_LOCK_KEY], [token])),
    finish: async (token) =>
      (await finish([REBUILD_LOCK_KEY, GENERATION_KEY], [token, new Date().toISOString()])) === 1,
    invalidate: () => inStore(async () => void (await redis.del(GENERATION_KEY))),
  };
}

/** Renew the lock this often. */
export const REBUILD_LOCK_RENEW_MS = REBUILD_LOCK_MS / 6;
