import { createHash } from 'node:crypto';
import { COMMAND_TIMEOUT_MS, inStore, type Redis } from './connect.ts';

/** A script with its keys and arguments; every failure is one of the store's errors. */
export type Script<T> = (keys: readonly string[], args: readonly (string | number | Buffer)[]) => Promise<T>;

/**
 * Makes a Lua script callable: sent by its hash, and whole where Redis does not know it yet.
 *
 * The client puts the system's prefix before `KEYS`. A key or channel whose name the script makes
 * itself, or is told as an argument, it must write as `ofSystem(name)`.
 *
 * A call ends within `boundMs`; a call that has failed by then may still be carried out.
 *
 * ioredis's `defineCommand` is not used: each pipeline copies every command defined on its client,
 * and an automatic pipeline is made in every tick of the event loop. That was a tenth to a quarter
 * of the CPU time of a small call.
 *
 * @example
 * const increment = makeScript<number>(redis, `return redis.call('INCRBY', KEYS[1], ARGV[1])`);
 * await increment(['counter'], [5]);
 */
export const makeScript = <T>(redis: Redis, lua: string, boundMs = COMMAND_TIMEOUT_MS): Script<T> =>
  prepareScript(redis, lua, { byHash: 'evalsha', whole: 'eval', boundMs });

/** As `makeScript`, for a script that answers bytes: every text of its answer is a `Buffer`. */
export const makeBinaryScript = <T>(redis: Redis, lua: string): Script<T> =>
  prepareScript(redis, lua, { byHash: 'evalshaBuffer', whole: 'evalBuffer', boundMs: COMMAND_TIMEOUT_MS });

type Sending = { readonly byHash: string; readonly whole: string; readonly boundMs: number };

function prepareScript<T>(redis: Redis, lua: string, { byHash, whole, boundMs }: Sending): Script<T> {
  const text = lua.includes('ofSystem(') ? luaOfSystem(redis.options.keyPrefix) + lua : lua;
  const hash = createHash('sha1').update(text).digest('hex');
  return (keys, args) => {
    // ioredis's types lack the commands that answer bytes.
    const send = (command: string, script: string): Promise<T> =>
      Reflect.get(redis, command).call(redis, script, keys.length, ...keys, ...args);
    return inStore(
      () =>
        send(byHash, hash).catch((error: unknown) => {
          if (!isUnknownScript(error)) throw error;
          return send(whole, text);
        }),
      boundMs,
    );
  };
}

/** Nothing in a prefix needs quoting: see `SYSTEM_ID`. */
const luaOfSystem = (prefix = ''): string => `local function ofSystem(name) return '${prefix}' .. name end\n`;

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith('NOSCRIPT');
