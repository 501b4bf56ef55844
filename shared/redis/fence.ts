import type { Redis } from 'ioredis';

/** A new version raises the number in these names if it changes the format of the views, so that
 * they are rebuilt. */
export const VIEW_KEYS = {
  /** Present while the system is open: the views are complete, but for results while there is
   * `openedAt`. */
  marker: 'view:generation:1',
  /** The server's run id when the marker was last checked. */
  run: 'view:run',
  /** Held by the one process that replays. */
  lock: 'view:rebuild-lock',
  /** When the system was last known to be open, epoch ms of Redis's clock. */
  seenAt: 'view:seen-at',
  /** Present from the opening until the results are back: when that was, epoch ms of Redis's clock. */
  openedAt: 'view:opened-at',
  /** Nonces issued until then, epoch ms of Redis's clock, may have been used by checks that this Redis
   * does not know. */
  noncesNotBefore: 'nonces-not-before',
  /** By topic and partition, the offset below which every record is in the views. */
  positions: 'view:positions',
} as const;

export const LUA_NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** The run of the server; nil if an ACL forbids the command. */
export const LUA_RUN = `local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or nil`;

/**
 * KEYS: marker, run, lock, time of the last look, instant before which nonces are void, opening.
 * ARGV: '1' to note the time of this look.
 *
 * A server that was restarted, or promoted, has another run id, and may lack the last writes that
 * were acknowledged: then the marker is deleted, so every script refuses to run, and a replay in
 * progress ends. Among the lost writes may be the mark of a used nonce, so all nonces that were
 * issued until now are void.
 */
export const READ_VIEW_STATE = `
${LUA_RUN}
${LUA_NOW}
local known = redis.call('GET', KEYS[2])
if run and known ~= run then
  redis.call('SET', KEYS[5], now)
  redis.call('SET', KEYS[2], run)
  if known then redis.call('DEL', KEYS[1], KEYS[3]) end
end
if redis.call('EXISTS', KEYS[1]) == 0 then return 'missing' end
-- A Redis at its bound refuses it; its views are complete all the same.
if ARGV[1] == '1' then redis.pcall('SET', KEYS[4], now) end
return redis.call('EXISTS', KEYS[6]) == 1 and 'open' or 'complete'
`;

export const VIEW_STATE_KEYS = [
  VIEW_KEYS.marker,
  VIEW_KEYS.run,
  VIEW_KEYS.lock,
  VIEW_KEYS.seenAt,
  VIEW_KEYS.noncesNotBefore,
  VIEW_KEYS.openedAt,
] as const;

/** A server that cannot be fenced at all: no reconnect makes that better. */
const FINAL_REFUSAL = /CROSSSLOT|CLUSTERDOWN|MOVED/;

/**
 * Checks the views by the first command of every connection, so that no script of this process runs
 * on an unchecked server.
 */
export function fenceEachConnection(redis: Redis, onRefused: (error: unknown) => void): void {
  redis.on('ready', () => {
    redis.eval(READ_VIEW_STATE, VIEW_STATE_KEYS.length, ...VIEW_STATE_KEYS, '').catch((error: unknown) => {
      if (redis.status !== 'ready') return;
      onRefused(error);
      if (!(error instanceof Error && FINAL_REFUSAL.test(error.message))) redis.disconnect(true);
    });
  });
}
