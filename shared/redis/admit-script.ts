import { REQUIRE_VIEW } from './view.ts';

/**
 * The one atomic step of admission, on Redis's clock. KEYS, all of one client app:
 *
 *   1 marker of the views   2 log of accepted requests (list of `ms:count`, oldest first)   3 its total
 *   4, 5 the quota counters of the first and the second month   6 the idempotency claim (hash), or the marker again
 *
 * ARGV: 1 view access  2 requests per window  3 requests per month (0: no quota)
 *       4, 5 end of the first and the second month, ms  6 'rate' or 'free' (the rate was paid already)
 *       7 'check' or 'count'  8 seed of the id to come  9 the body's hash ('' without an idempotency key)
 *       10 seed of the claim that may be replaced ('' for none)  11, 12 names of the months
 *       13 the client app's id: under it the hour's usage is counted
 *
 * Answer: outcome, now (ms), left in the window, ms until the window's oldest leaves, month's counter, which month
 * (1 or 2), claim's time, claim's seed, claim's request id, claim's month.
 *
 * The log is exact at every rate: requests of one millisecond share an entry, so it never holds more than 1 001.
 * A request is accepted if fewer than the limit lie in [now - 1000, now]: so two that are `limit` apart differ by
 * more than 1 000 ms. The clock of a log never goes back by less than CLOCK_STEP_MAX; beyond, it starts anew.
 */
export const ADMIT_LUA = `${REQUIRE_VIEW}
local WINDOW, CLOCK_STEP_MAX, TAKE_OVER, CLAIM_TTL = 1000, 5000, 5000, 86400000
local COUNTER_KEPT, USAGE_KEPT = 40 * 86400000, 3 * 3600000
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, quota = tonumber(ARGV[2]), tonumber(ARGV[3])

local total, tailMs, tailCount, oldest = tonumber(redis.call('GET', KEYS[3]) or '0'), nil, 0, nil
local tail = redis.call('LINDEX', KEYS[2], -1)
if tail then
  local ms, count = string.match(tail, '^(%d+):(%d+)$')
  tailMs, tailCount = tonumber(ms), tonumber(count)
  if tailMs > now then
    if tailMs - now > CLOCK_STEP_MAX then
      redis.call('DEL', KEYS[2], KEYS[3])
      total, tailMs, tailCount = 0, nil, 0
    else
      now = tailMs
    end
  end
else
  total = 0
end
while tailMs do
  local head = redis.call('LINDEX', KEYS[2], 0)
  if not head then total, tailMs = 0, nil break end
  local ms, count = string.match(head, '^(%d+):(%d+)$')
  if tonumber(ms) >= now - WINDOW then oldest = tonumber(ms) break end
  redis.call('LPOP', KEYS[2])
  total = total - tonumber(count)
end

local month = now < tonumber(ARGV[4]) and 1 or 2
local used = 0
if quota > 0 then used = tonumber(redis.call('GET', KEYS[3 + month]) or '0') end
local function answer(outcome, claim)
  claim = claim or {}
  return {outcome, now, math.max(0, limit - total), oldest and (oldest + WINDOW + 1 - now) or WINDOW, used, month,
    claim.at or '', claim.seed or '', claim.id or '', claim.month or ''}
end
local function enter()
  if ARGV[6] ~= 'rate' then return end
  if tailMs == now then
    redis.call('LSET', KEYS[2], -1, now .. ':' .. (tailCount + 1))
  else
    redis.call('RPUSH', KEYS[2], now .. ':1')
  end
  total = total + 1
  oldest = oldest or now
  redis.call('PEXPIRE', KEYS[2], 2 * WINDOW + CLOCK_STEP_MAX)
  redis.call('SET', KEYS[3], total, 'PX', 2 * WINDOW + CLOCK_STEP_MAX)
end

local function countUsage(member)
  if quota == 0 then return end
  local hour = math.floor(now / 3600000)
  local usage = 'usage:{' .. ARGV[13] .. '}:' .. hour
  if redis.call('HINCRBY', usage, member, 1) == 1 then
    redis.call('PEXPIRE', usage, USAGE_KEPT)
    redis.call('SADD', 'usage:apps:' .. hour, ARGV[13])
    redis.call('PEXPIRE', 'usage:apps:' .. hour, USAGE_KEPT)
  end
end

if ARGV[6] == 'rate' and total >= limit then countUsage('refused') return answer('rate-limited') end
if ARGV[7] == 'count' then enter() return answer('counted') end

if ARGV[9] ~= '' then
  local held = redis.call('HMGET', KEYS[6], 'body', 'at', 'seed', 'id', 'month', 'state', 'touched')
  if held[1] and held[3] ~= ARGV[10] then
    local claim = {at = held[2], seed = held[3], id = held[4], month = held[5]}
    enter()
    if held[1] ~= ARGV[9] then return answer('key-reused', claim) end
    if held[6] == 'published' then return answer('published', claim) end
    if now - tonumber(held[7]) < TAKE_OVER then return answer('claimed', claim) end
    redis.call('HSET', KEYS[6], 'touched', now)
    return answer('taken-over', claim)
  end
end

if quota > 0 and used >= quota then countUsage('refused') return answer('quota-exceeded') end
enter()
countUsage('accepted')
if quota > 0 then
  used = redis.call('INCR', KEYS[3 + month])
  if used == 1 then redis.call('PEXPIREAT', KEYS[3 + month], tonumber(ARGV[3 + month]) + COUNTER_KEPT) end
end
if ARGV[9] ~= '' then
  redis.call('DEL', KEYS[6])
  redis.call('HSET', KEYS[6], 'body', ARGV[9], 'at', now, 'seed', ARGV[8], 'state', 'claimed', 'touched', now,
    'month', quota > 0 and ARGV[10 + month] or '')
  redis.call('PEXPIRE', KEYS[6], CLAIM_TTL)
end
return answer('fresh')
`;

/** KEYS: claim. ARGV: seed, request id. Only the claim's owner may mark it. */
export const MARK_PUBLISHED_LUA = `
if redis.call('HGET', KEYS[1], 'seed') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'state', 'published', 'id', ARGV[2])
end
return 1
`;

/** KEYS: the month's counter, claim (or the counter again). ARGV: seed, '1' if there is a claim. */
export const RELEASE_LUA = `
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
if ARGV[2] == '1' and redis.call('HGET', KEYS[2], 'seed') == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 1
`;
