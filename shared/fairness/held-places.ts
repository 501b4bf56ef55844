import { BATCH_LIMITS } from '../contracts/batches/batch.ts';
import { LUA_HAS_ROOM } from './fair-shares.ts';

const PRUNED_MAX = 100;

/**
 * Places that all processes together share by account, then by app, under the rule of `FairShares`,
 * for scripts of Redis.
 *
 * Of one hash: `all`, `account:<id>` and `app:<id>` are sums; `of:<id>` is what one holder has:
 * account, app, places left. What has no end, because a process died or an answer is lost, is freed
 * when its time in the sorted set is over. The keys have no hash tag: as all scripts of the views,
 * this one needs a Redis that is not split into a cluster.
 *
 * @param place what an account that holds nothing may take at once
 * @param leaseMs how long taken places are held unless they are held anew
 */
export const luaHeldPlaces = ({
  name,
  countMax,
  place,
  leaseMs,
}: {
  readonly name: string;
  readonly countMax: number;
  readonly place: number;
  readonly leaseMs: number;
}): string => `${LUA_HAS_ROOM}
local HELD, HELD_UNTIL, LEASE_MS = ofSystem('${name}:held'), ofSystem('${name}:held-until'), ${leaseMs}
local function heldBy(field) return tonumber(redis.call('HGET', HELD, field) or '0') end
local function addHeld(account, app, count)
  for _, field in ipairs({ 'all', 'account:' .. account, 'app:' .. app }) do
    if redis.call('HINCRBY', HELD, field, count) <= 0 then redis.call('HDEL', HELD, field) end
  end
end
local function freePlaces(id, count)
  local account, app, left = string.match(redis.call('HGET', HELD, 'of:' .. id) or '', '^(%S+) (%S+) (%d+)$')
  if not left then return end
  local freed = math.min(tonumber(count or left), tonumber(left))
  addHeld(account, app, -freed)
  if freed < tonumber(left) then
    redis.call('HSET', HELD, 'of:' .. id, table.concat({ account, app, left - freed }, ' '))
  else
    redis.call('HDEL', HELD, 'of:' .. id)
    redis.call('ZREM', HELD_UNTIL, id)
  end
end
local function holdPlaces(id, account, app, count, untilMs)
  if count <= 0 or redis.call('HEXISTS', HELD, 'of:' .. id) == 1 then return end
  addHeld(account, app, count)
  redis.call('HSET', HELD, 'of:' .. id, table.concat({ account, app, count }, ' '))
  redis.call('ZADD', HELD_UNTIL, untilMs, id)
end
local function hasPlaces(account, app, count, now, countMax)
  for _, ended in ipairs(redis.call('ZRANGEBYSCORE', HELD_UNTIL, '-inf', now, 'LIMIT', 0, ${PRUNED_MAX})) do freePlaces(ended) end
  local ofAccount, ofApp = heldBy('account:' .. account), heldBy('app:' .. app)
  return hasRoom(countMax or ${countMax}, ${place}, heldBy('all'), ofAccount, ofApp, count)
end
local function takePlaces(id, account, app, count, now, countMax)
  if not hasPlaces(account, app, count, now, countMax) then return false end
  holdPlaces(id, account, app, count, now + LEASE_MS)
  return true
end
`;

/** The batches with unfinished entries, each scored by when it no longer counts (epoch ms). */
export const BATCHES_HELD_UNTIL = 'batches:held-until';

/**
 * The unfinished entries of the batch lane, of all gateways. A first place is the largest batch. A
 * batch is held under its seed from its admission until it is begun, then under its request id; each
 * stored part frees its entries.
 */
export const LUA_HELD_ENTRIES = luaHeldPlaces({
  ...{ name: 'batches', countMax: 1_000_000, place: BATCH_LIMITS.enterprise.entries },
  leaseMs: 600_000,
});
