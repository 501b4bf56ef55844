import { LUA_HOLD_ENTRIES } from '#shared/fairness/held-entries.ts';
import { REQUIRE_VIEW } from '#shared/redis/view.ts';
import { LUA_ACCOUNT_BYTES, LUA_NOTE_ACTIVE, USAGE_KEPT_MS } from '../usage/usage-days.ts';

/** How far Redis's clock may be behind a log's last entry before the log is deleted; and how long a log outlives its last entry. */
const CLOCK_STEP_MS_MAX = 5_000;
const LOG_KEPT_MS = 2 * 1_000 + CLOCK_STEP_MS_MAX;

/**
 * `endInstant(log)`: an instant that is later than every admission so far, and no later than any from now on. An entry in the
 * log that repeats its count ensures that: the log's clock does not go back.
 */
export const END_INSTANT_LUA = `
local function endInstant(log)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local last, count = string.match(redis.call('LINDEX', log, -1) or '0:0', '^(%d+):(%d+)$')
  if last - now > ${CLOCK_STEP_MS_MAX} then return now end
  local instant = math.max(now, tonumber(last)) + 1
  redis.call('RPUSH', log, instant .. ':' .. count)
  redis.call('PEXPIRE', log, ${LOG_KEPT_MS})
  return instant
end
`;

/** Keys and arguments of one admission; a call carries several. */
const ADMISSION_KEYS = 4;
const ADMISSION_ARGUMENTS = 12;

/** What Redis holds for an idempotency claim. */
const CLAIM_BYTES = 512;

/**
 * The one atomic step of admission, on Redis's clock, for several requests one after another: each is judged as if
 * it had come alone, and a failed one (a broken key) does not affect the others.
 *
 * KEYS[1]: marker of the views. Then for each request, all of one client app:
 *
 *   1 log of accepted requests (list of `ms:count`, oldest first)
 *   2, 3 the quota counters of the first and the second month   4 the idempotency claim (hash), or the marker again
 *
 * ARGV: 1 view access  2, 3 end of the first and the second month, ms  4, 5 names of the months. Then for each request:
 *
 *   1 requests per window  2 requests per month (0: no quota)  3 'rate' or 'free' (the rate was paid already)
 *   4 'check', or 'count' (a claim that is there is found, and none is made)  5 seed of the id to come  6 the body's hash ('' without an idempotency key)
 *   7 seed of the claim that may be replaced ('' for none)  8 the client app's id: under it the hour's usage is counted
 *   9 checks that it costs of the month: the entries of a batch, otherwise 1. They are charged as a whole or not at all
 *   10 its account, whose bytes of the day are counted and compared   11 bytes of the record to be written
 *   12 of a batch, the account: its entries are held until they are finished
 *
 * Answers, one text a request: outcome, now (ms), left in the window, ms until the window's oldest leaves, month's
 * counter, which month (1 or 2), claim's time, claim's seed, claim's request id, claim's month, with a blank between
 * them; or `failed`.
 *
 * The hour's usage also holds the `last` millisecond in which a check was accepted, and how many were: they tell the
 * checks that a Redis has counted from those that it lost.
 *
 * The log is exact at every rate. An entry's count is that of all requests since the log began, so the window holds the
 * last count less the first entry's, which has left the window: log and total are one value, and expire as one. Requests of
 * one millisecond share an entry, so the log never holds more than 1 003.
 * A request is accepted if fewer than the limit lie in [now - 1000, now]: so two that are `limit` apart differ by
 * more than 1 000 ms. If Redis's clock is behind the log's last entry by at
 * most CLOCK_STEP_MAX, the time of that entry is used; if it is further behind, the log is deleted.
 */
export const ADMIT_LUA = `${REQUIRE_VIEW}${LUA_NOTE_ACTIVE}${LUA_ACCOUNT_BYTES}${LUA_HOLD_ENTRIES}
local WINDOW, CLOCK_STEP_MAX, TAKE_OVER, CLAIM_TTL = 1000, ${CLOCK_STEP_MS_MAX}, 5000, 86400000
local COUNTER_KEPT, HOUR_KEPT = 40 * 86400000, 50 * 3600000
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)

local function admit(k, a)
  local logKey, claimKey = KEYS[k + 1], KEYS[k + 4]
  local limit, quota, rate, kind = tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), ARGV[a + 3], ARGV[a + 4]
  local seed, body, replaced, client = ARGV[a + 5], ARGV[a + 6], ARGV[a + 7], ARGV[a + 8]
  local cost, account, bytes = tonumber(ARGV[a + 9]), ARGV[a + 10], tonumber(ARGV[a + 11])
  local now = clock

  local count, tailMs = 0, nil
  local tail = redis.call('LINDEX', logKey, -1)
  if tail then
    local ms, counted = string.match(tail, '^(%d+):(%d+)$')
    tailMs = tonumber(ms)
    if tailMs - now > CLOCK_STEP_MAX then
      redis.call('DEL', logKey)
      tailMs = nil
    else
      now, count = math.max(now, tailMs), tonumber(counted)
    end
  end
  local left, oldest = 0, nil
  if tailMs then
    left = tonumber(string.match(redis.call('LINDEX', logKey, 0), ':(%d+)$'))
    while true do
      local entry = redis.call('LINDEX', logKey, 1)
      if not entry then break end
      local ms, counted = string.match(entry, '^(%d+):(%d+)$')
      if tonumber(ms) >= now - WINDOW and tonumber(counted) > left then oldest = tonumber(ms) break end
      redis.call('LPOP', logKey)
      left = tonumber(counted)
    end
  end
  local total = count - left

  local month = now < tonumber(ARGV[2]) and 1 or 2
  local used = 0
  if quota > 0 then used = tonumber(redis.call('GET', KEYS[k + 1 + month]) or '0') end
  local function answer(outcome, claim)
    claim = claim or {}
    local resets = oldest and (oldest + WINDOW + 1 - now) or WINDOW
    return table.concat({outcome, now, math.max(0, limit - total), resets, used, month,
      claim.at or '', claim.seed or '', claim.id or '', claim.month or ''}, ' ')
  end
  local function enter()
    if rate ~= 'rate' then return end
    total, count = total + 1, count + 1
    if not tailMs then redis.call('RPUSH', logKey, '0:0') end
    if oldest and tailMs == now then
      redis.call('LSET', logKey, -1, now .. ':' .. count)
    else
      redis.call('RPUSH', logKey, now .. ':' .. count)
    end
    oldest = oldest or now
    redis.call('PEXPIRE', logKey, ${LOG_KEPT_MS})
  end

  local today = math.floor(now / 86400000)
  local day = 'usage-day:{' .. client .. '}:' .. today
  local function countUsage(member, times)
    if quota == 0 then return end
    local hour = math.floor(now / 3600000)
    local usage = 'usage:{' .. client .. '}:' .. hour
    if redis.call('HINCRBY', usage, member, times) == times then
      redis.call('PEXPIRE', usage, ${USAGE_KEPT_MS})
      noteActive(client, hour)
    end
    if member == 'accepted' then
      local ms, count = string.match(redis.call('HGET', usage, 'last') or '0:0', '^(%d+):(%d+)$')
      if tonumber(ms) < now then redis.call('HSET', usage, 'last', now .. ':' .. times)
      elseif tonumber(ms) == now then redis.call('HSET', usage, 'last', now .. ':' .. (count + times)) end
    end
    if member == 'refused' then
      if redis.call('HINCRBY', day, member, times) == times then redis.call('PEXPIRE', day, COUNTER_KEPT) end
      local ofHour = 'usage-hour:{' .. client .. '}:' .. hour
      if redis.call('HINCRBY', ofHour, member, times) == times then redis.call('PEXPIRE', ofHour, HOUR_KEPT) end
    end
  end

  if rate == 'rate' and total >= limit then countUsage('refused', 1) return answer('rate-limited') end

  if body ~= '' then
    local held = redis.call('HMGET', claimKey, 'body', 'at', 'seed', 'id', 'month', 'state', 'touched')
    if held[1] and held[3] ~= replaced then
      local claim = {at = held[2], seed = held[3], id = held[4], month = held[5]}
      enter()
      if held[1] ~= body then return answer('key-reused', claim) end
      if held[6] == 'published' then return answer('published', claim) end
      if now - tonumber(held[7]) < TAKE_OVER then return answer('claimed', claim) end
      if kind == 'count' then return answer('counted') end
      redis.call('HSET', claimKey, 'touched', now)
      countBytes(account, client, today, bytes)
      return answer('taken-over', claim)
    end
  end

  if kind == 'count' then enter() return answer('counted') end
  if quota > 0 and used + cost > quota then countUsage('refused', 1) return answer('quota-exceeded') end
  if quota > 0 then
    local kept, keptMax = accountBytes(account, quota, today)
    if kept >= keptMax or kept + bytes > keptMax then
      enter()
      countUsage('refused', 1)
      return answer('bytes-exceeded')
    end
  end
  local batchOf = ARGV[a + 12]
  if batchOf ~= '' and not holdAdmitted(seed, batchOf, client, cost, now) then enter() return answer('lane-full') end
  enter()
  countUsage('accepted', cost)
  countBytes(account, client, today, bytes + (body ~= '' and ${CLAIM_BYTES} or 0))
  if quota > 0 then
    used = redis.call('INCRBY', KEYS[k + 1 + month], cost)
    if used == cost then redis.call('PEXPIREAT', KEYS[k + 1 + month], tonumber(ARGV[1 + month]) + COUNTER_KEPT) end
  end
  if body ~= '' then
    redis.call('DEL', claimKey)
    redis.call('HSET', claimKey, 'body', body, 'at', now, 'seed', seed, 'state', 'claimed', 'touched', now,
      'month', quota > 0 and ARGV[3 + month] or '')
    redis.call('PEXPIRE', claimKey, CLAIM_TTL)
  end
  return answer('fresh')
end

local answers = {}
for request = 0, (#KEYS - 1) / ${ADMISSION_KEYS} - 1 do
  local isDone, answer = pcall(admit, 1 + request * ${ADMISSION_KEYS}, 5 + request * ${ADMISSION_ARGUMENTS})
  answers[request + 1] = isDone and answer or 'failed'
end
return answers
`;

/** KEYS: claim. ARGV: seed, request id. Only the claim's owner may mark it. */
export const MARK_PUBLISHED_LUA = `
if redis.call('HGET', KEYS[1], 'seed') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'state', 'published', 'id', ARGV[2])
end
return 1
`;

/**
 * KEYS: claim. ARGV: seed. Returns 0 if another request has taken the claim over, or if the claim was lost with Redis: it may
 * have been taken over before.
 */
export const DROP_CLAIM_LUA = `
local seed, at, touched = unpack(redis.call('HMGET', KEYS[1], 'seed', 'at', 'touched'))
if seed ~= ARGV[1] or touched ~= at then return 0 end
return redis.call('DEL', KEYS[1])
`;

/** KEYS: the month's counter. ARGV: checks charged. */
export const RELEASE_LUA = `
local refund = math.min(tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or '0'))
if refund > 0 then redis.call('DECRBY', KEYS[1], refund) end
return 1
`;
