import { BATCH_LIMITS } from '../contracts/batches/batch.ts';
import { LUA_HAS_ROOM } from './fair-shares.ts';

/** Entries of batches that are not finished, of all gateways and accounts. */
const ENTRIES_MAX = 1_000_000;
/** A first place is the largest batch. */
const PLACE = BATCH_LIMITS.enterprise.entries;
/** How long entries are held for a batch that was admitted, until it is begun. */
const ADMITTED_KEPT_MS = 600_000;
const PRUNED_MAX = 100;

/**
 * The unfinished entries of the batch lane, shared by account, then by app, under the rule of
 * `FairShares`.
 *
 * Of one hash: `all`, `account:<id>` and `app:<id>` are sums; `of:<id>` is what a batch holds:
 * account, app, entries left. A batch is held under its seed from its admission until it is begun,
 * then under its request id; each stored part frees its entries. What has no end, because a gateway
 * died or a part is lost, is freed when its time in the sorted set is over. The keys have no hash
 * tag: as all scripts of the views, this one needs a Redis that is not split into a cluster.
 */
export const LUA_HOLD_ENTRIES = `${LUA_HAS_ROOM}
local HELD, HELD_UNTIL = ofSystem('batches:held'), ofSystem('batches:held-until')
local function heldBy(field) return tonumber(redis.call('HGET', HELD, field) or '0') end
local function addHeld(account, app, count)
  for _, field in ipairs({ 'all', 'account:' .. account, 'app:' .. app }) do
    if redis.call('HINCRBY', HELD, field, count) <= 0 then redis.call('HDEL', HELD, field) end
  end
end
local function freeEntries(id, count)
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
local function holdEntries(id, account, app, count, untilMs)
  if count <= 0 or redis.call('HEXISTS', HELD, 'of:' .. id) == 1 then return end
  addHeld(account, app, count)
  redis.call('HSET', HELD, 'of:' .. id, table.concat({ account, app, count }, ' '))
  redis.call('ZADD', HELD_UNTIL, untilMs, id)
end
local function holdAdmitted(seed, account, app, count, now)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', HELD_UNTIL, '-inf', now, 'LIMIT', 0, ${PRUNED_MAX})) do freeEntries(id) end
  local ofAccount, ofApp = heldBy('account:' .. account), heldBy('app:' .. app)
  if not hasRoom(${ENTRIES_MAX}, ${PLACE}, heldBy('all'), ofAccount, ofApp, count) then return false end
  holdEntries(seed, account, app, count, now + ${ADMITTED_KEPT_MS})
  return true
end
`;
