import { Command, type Redis } from 'ioredis';

/** The number in these names is raised where the views changed their form, so that they are rebuilt. */
export const VIEW_KEYS = {
  /** Present while the views are whole. */
  marker: 'view:generation:4',
  /** The marker of a Redis that became another one: it may have lost its last writes. */
  outdated: 'view:outdated:4',
  /** The run of the server that the marker was last looked at on. */
  run: 'view:run',
  /** Held by the one process that rebuilds. */
  lock: 'view:rebuild-lock',
  /** When the views were last seen whole, epoch ms of Redis's clock. */
  seenAt: 'view:seen-at',
  /** Until when every published charge is in the counters, epoch ms of Redis's clock. */
  chargedUntil: 'view:charged-until',
  /** By topic and partition, the offset below which every record is in the views. */
  positions: 'view:positions',
} as const;

export const LUA_NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** The run of the server; nil if an ACL forbids the command. */
export const LUA_RUN = `local info = redis.pcall('INFO', 'server')
local run = type(info) == 'string' and string.match(info, 'run_id:(%x+)') or nil`;

/**
 * KEYS: marker, outdated marker, run, lock, time of the last look. ARGV: '1' to note the time of this look.
 *
 * A server that was restarted, or promoted, has another run id, and may lack the last writes that were acknowledged:
 * then the marker becomes the outdated one, so that every script holds, and a rebuild that was under way ends.
 */
export const LOOK_AT_VIEWS = `
${LUA_RUN}
local known = redis.call('GET', KEYS[3])
if run and known ~= run then
  redis.call('SET', KEYS[3], run)
  if known then
    redis.call('DEL', KEYS[4])
    if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[2]) end
  end
end
if redis.call('EXISTS', KEYS[1]) == 0 then
  return redis.call('EXISTS', KEYS[2]) == 1 and 'outdated' or 'missing'
end
if ARGV[1] == '1' then
  ${LUA_NOW}
  redis.call('SET', KEYS[5], now)
end
return 'whole'
`;

export const LOOK_KEYS = [
  VIEW_KEYS.marker,
  VIEW_KEYS.outdated,
  VIEW_KEYS.run,
  VIEW_KEYS.lock,
  VIEW_KEYS.seenAt,
] as const;

/** A server that cannot be fenced at all: no reconnect makes that better. */
const FINAL_REFUSAL = /CROSSSLOT|CLUSTERDOWN|MOVED/;

/**
 * Checks the views by the first command of every connection, so that no script of this process runs on an unchecked
 * server.
 *
 * NOTE: sent past the automatic pipeline, which waits for the next tick of the event loop.
 */
export function fenceEachConnection(redis: Redis, onRefused: (error: unknown) => void): void {
  redis.on('ready', () => {
    const look = new Command('eval', [LOOK_AT_VIEWS, `${LOOK_KEYS.length}`, ...LOOK_KEYS, ''], {
      replyEncoding: 'utf8',
    });
    void (redis.sendCommand(look) as Promise<unknown>).catch((error: unknown) => {
      if (redis.status !== 'ready') return;
      onRefused(error);
      if (!(error instanceof Error && FINAL_REFUSAL.test(error.message))) redis.disconnect(true);
    });
  });
}
