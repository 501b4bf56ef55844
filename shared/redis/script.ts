import { createHash } from 'node:crypto';
import { COMMAND_TIMEOUT_MS, inStore, REPLAY_TIMEOUT_MS, type Redis } from './connect.ts';
import { VIEW_KEYS } from './fence.ts';

/**
 * The statement that every script of a view begins with: it ends the script unless the views are
 * complete.
 *
 * What it checks is a property of the connection. As a rule it is the marker. On the connection of a
 * replay (`withLock`) it is the token in the rebuild lock: a replay may write while there is no
 * marker, and only while it holds the lock, so that a Redis that is wiped again meanwhile is not
 * declared complete.
 */
export const REQUIRE_VIEW = 'requireView()\n';

/**
 * The statement that ends a script while results that a replay has not brought back may be those of
 * a check that was accepted at `acceptedAtMs`: until they are back, only the replay saves them, so
 * that the first one wins again.
 */
export const REQUIRE_RESULTS = 'requireResults(acceptedAtMs)\n';

const REQUIRE_MARKER = `
if redis.call('EXISTS', ofSystem('${VIEW_KEYS.marker}')) == 0 then return redis.error_reply('VIEW_REBUILDING') end
`;
const REQUIRE_BACK = `
if tonumber(acceptedAtMs) < tonumber(redis.call('GET', ofSystem('${VIEW_KEYS.openedAt}')) or '0') then
  return redis.error_reply('VIEW_REBUILDING results are not back')
end
`;
/** The token follows the script's own arguments. */
const REQUIRE_LOCK = `
if redis.call('GET', ofSystem('${VIEW_KEYS.lock}')) ~= table.remove(ARGV) then
  return redis.error_reply('VIEW_REBUILDING the rebuild lock is lost')
end
`;

const lockTokens = new WeakMap<Redis, string>();

/**
 * The same connection for the holder of the rebuild lock: scripts that are made with it check the
 * lock's token in place of the marker.
 *
 * @example
 * const { accounts } = openViews(withLock(redis, token));
 */
export function withLock(redis: Redis, token: string): Redis {
  const locked = new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  lockTokens.set(locked, token);
  return locked;
}

/** Whether the connection is that of a replay. */
export const isReplay = (redis: Redis): boolean => lockTokens.has(redis);

/** A script with its keys and arguments; every failure is one of the store's errors. */
export type Script<T> = (keys: readonly string[], args: readonly (string | number | Buffer)[]) => Promise<T>;

/**
 * Makes a Lua script callable: sent by its hash, and whole where Redis does not know it yet.
 *
 * The client puts the system's prefix before `KEYS`. A key or channel whose name the script makes
 * itself, or is told as an argument, it must write as `ofSystem(name)`.
 *
 * A call ends within `COMMAND_TIMEOUT_MS`, one of a replay within `REPLAY_TIMEOUT_MS`; a call that
 * has failed by then may still be carried out.
 *
 * @example
 * const increment = makeScript<number>(redis, `return redis.call('INCRBY', KEYS[1], ARGV[1])`);
 * await increment(['counter'], [5]);
 */
export function makeScript<T>(redis: Redis, lua: string): Script<T> {
  const token = lua.includes(REQUIRE_VIEW) ? lockTokens.get(redis) : undefined;
  const fenced = lua
    .replace(REQUIRE_VIEW, token === undefined ? REQUIRE_MARKER : REQUIRE_LOCK)
    .replace(REQUIRE_RESULTS, isReplay(redis) ? '' : REQUIRE_BACK);
  const text = fenced.includes('ofSystem(') ? luaOfSystem(redis.options.keyPrefix) + fenced : fenced;
  const hash = createHash('sha1').update(text).digest('hex');
  return (keys, ownArgs) => {
    const args = token === undefined ? ownArgs : [...ownArgs, token];
    const send = (command: 'evalsha' | 'eval', script: string): Promise<T> =>
      redis[command](script, keys.length, ...keys, ...args) as Promise<T>;
    return inStore(
      () =>
        send('evalsha', hash).catch((error: unknown) => {
          if (!isUnknownScript(error)) throw error;
          return send('eval', text);
        }),
      token === undefined ? COMMAND_TIMEOUT_MS : REPLAY_TIMEOUT_MS,
    );
  };
}

/** A script of a view that is one command on one key, with the arguments of the call. */
export const viewCommand = (command: string): string =>
  `${REQUIRE_VIEW}return redis.call('${command}', KEYS[1], unpack(ARGV))`;

/** The pairs of a flat reply: fields and values of a hash, or members and scores of a set. */
export const pairsOf = (flat: readonly string[]): [string, string][] =>
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] ?? '', flat[2 * i + 1] ?? '']);

/** Nothing in a prefix needs quoting: see `SYSTEM_ID`. */
const luaOfSystem = (prefix = ''): string => `local function ofSystem(name) return '${prefix}' .. name end\n`;

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT');
