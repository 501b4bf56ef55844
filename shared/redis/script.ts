import { inStore, type Redis } from './connect.ts';

/** A script with its keys and arguments; every failure is one of the store's errors. */
export type Script<T> = (keys: readonly string[], args: readonly (string | number | Buffer)[]) => Promise<T>;

/**
 * Makes a Lua script callable: sent by its hash, and whole where Redis does not know it yet.
 *
 * A call ends within `COMMAND_TIMEOUT_MS`; a call that has failed by then may still be carried out.
 *
 * @example
 * const increment = makeScript<number>(redis, 'incrementBy', `return redis.call('INCRBY', KEYS[1], ARGV[1])`);
 * await increment(['counter'], [5]);
 */
export const makeScript = <T>(redis: Redis, name: string, lua: string): Script<T> =>
  defineScript(redis, name, lua, name);

/** As `makeScript`, for a script that answers bytes: every text of its answer is a `Buffer`. */
export const makeBinaryScript = <T>(redis: Redis, name: string, lua: string): Script<T> =>
  defineScript(redis, name, lua, `${name}Buffer`);

function defineScript<T>(redis: Redis, name: string, lua: string, method: string): Script<T> {
  redis.defineCommand(name, { lua });
  const command = Reflect.get(redis, method) as (...args: (string | number | Buffer)[]) => Promise<T>;
  return (keys, args) => inStore(() => command.call(redis, keys.length, ...keys, ...args));
}
