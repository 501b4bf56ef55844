import { DAY_MS } from '#shared/contracts/durations.ts';
import { LUA_HOLD_ENTRIES } from '#shared/fairness/held-entries.ts';
import { REQUIRE_VIEW } from '#shared/redis/view.ts';
import { LUA_REFUND_MONTH } from '../checks/admit.ts';
import { LUA_COUNT_DAY } from '../usage/usage-days.ts';
import { LUA_LIST_BATCH } from './batch-list.ts';

// The scripts of stored batches; `batches.ts` calls them.

/** A part whose retention ends this soon after it is saved may have ended when its record is processed again. */
const ENDS_SOON_MS = 600_000;
/** So long is it remembered then that the part was saved. */
const SAVED_KEPT_MS = DAY_MS;
/** How long the counts of a batch are kept after its lines. */
const COUNTS_KEPT_MS = DAY_MS;

/** A batch whose parts are still being published, or may never be, is abandoned so long after the last attempt. */
export const ABANDONED_AFTER_MS = 600_000;

/**
 * Registers a batch unless it is registered. Its last part is published after all others, so a batch of which the last
 * part is known is published as a whole: it is accepted, and keeps a slot of its app until all parts are stored. Until then
 * its slot is the lease of the gateway that publishes it, and it is among those that may be abandoned.
 *
 * A batch of which all parts are stored is not unfinished, however late its registration is written.
 *
 * The counts of a batch that is not complete are kept a day longer than its lines: if it completes late, its webhook has them.
 */
const LUA_REGISTER_BATCH = `${LUA_LIST_BATCH}${LUA_HOLD_ENTRIES}
local function nowMs()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function isComplete(batchKey, batch)
  return tonumber(redis.call('HGET', batchKey, 'partsDone') or '0') >= tonumber(batch.parts)
end
local function expireCounts(batchKey, batch)
  local retainUntilMs = tonumber(batch.retainUntilMs)
  if isComplete(batchKey, batch) and retainUntilMs > nowMs() then
    redis.call('PEXPIREAT', batchKey, batch.retainUntilMs)
  else
    redis.call('PEXPIREAT', batchKey, math.max(retainUntilMs, nowMs()) + ${COUNTS_KEPT_MS})
  end
end
local function registerBatch(batchKey, ofAppKey, unfinishedKey, publishingKey, listKey, batch)
  if redis.call('HEXISTS', batchKey, 'parts') == 0 then
    redis.call('HSET', batchKey, 'clientId', batch.clientId, 'entries', batch.entries, 'parts', batch.parts,
      'acceptedAt', batch.acceptedAt, 'ruleSet', batch.ruleSet)
    listBatch(listKey, batch.requestId, batch.retainUntilMs)
  end
  if batch.roleIds ~= '[]' then redis.call('HSETNX', batchKey, 'roleIds', batch.roleIds) end
  expireCounts(batchKey, batch)
  if batch.isAccepted == '1' or redis.call('HEXISTS', batchKey, 'abandoned') == 0 then
    local done = tonumber(redis.call('HGET', batchKey, 'done') or '0')
    holdEntries(batch.requestId, batch.accountId, batch.clientId, batch.entries - done, batch.retainUntilMs)
  end
  if batch.isAccepted ~= '1' then
    if redis.call('HEXISTS', batchKey, 'accepted') == 0 and redis.call('HEXISTS', batchKey, 'abandoned') == 0 then
      redis.call('ZADD', publishingKey, 'NX', nowMs(), batch.requestId)
    end
    return
  end
  redis.call('HSET', batchKey, 'accepted', '1')
  redis.call('HDEL', batchKey, 'abandoned')
  redis.call('ZREM', publishingKey, batch.requestId)
  if isComplete(batchKey, batch) then
    redis.call('ZREM', ofAppKey, batch.requestId)
    return
  end
  redis.call('ZADD', ofAppKey, batch.retainUntilMs, batch.requestId)
  local endsAtMs = math.max(tonumber(batch.retainUntilMs), nowMs() + ${COUNTS_KEPT_MS})
  redis.call('PEXPIREAT', ofAppKey, endsAtMs, 'NX')
  redis.call('PEXPIREAT', ofAppKey, endsAtMs, 'GT')
  redis.call('ZADD', unfinishedKey, batch.acceptedAtMs, batch.requestId)
end
local function batchOf(ARGV)
  return { requestId = ARGV[2], clientId = ARGV[3], entries = ARGV[4], parts = ARGV[5], acceptedAt = ARGV[6],
    acceptedAtMs = ARGV[7], retainUntilMs = ARGV[8], ruleSet = ARGV[9], roleIds = ARGV[10], isAccepted = ARGV[11],
    accountId = ARGV[12] }
end
`;

/** KEYS: marker, batch, the app's unfinished batches, all unfinished batches, those being published, the app's list. */
export const REGISTER = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
registerBatch(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], batchOf(ARGV))
return 1
`;

/**
 * KEYS: those of a registration, then the month's counter ('' where nothing is charged). ARGV: those of a registration,
 * then the month, how many checks it may be charged for, and the
 * seed under which its entries are held since its admission.
 *
 * A batch that is published again after it was abandoned is charged again for the refund: 0 if the rest of the monthly
 * quota is too small.
 */
export const BEGIN = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
local batch = batchOf(ARGV)
local isNew = redis.call('EXISTS', KEYS[2]) == 0
if not isNew and ARGV[13] ~= '' then
  local charged = tonumber(redis.call('HGET', KEYS[2], 'charged') or batch.entries)
  local owed = tonumber(batch.entries) - charged
  if owed > 0 then
    if tonumber(redis.call('GET', KEYS[7]) or '0') + owed > tonumber(ARGV[14]) then return 0 end
    redis.call('INCRBY', KEYS[7], owed)
    redis.call('HSET', KEYS[2], 'charged', batch.entries)
  end
end
redis.call('HDEL', KEYS[2], 'abandoned')
freeEntries(ARGV[15])
registerBatch(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], batch)
if isNew and ARGV[13] ~= '' then redis.call('HSET', KEYS[2], 'charged', batch.entries, 'month', ARGV[13]) end
if redis.call('ZSCORE', KEYS[5], batch.requestId) then redis.call('ZADD', KEYS[5], nowMs(), batch.requestId) end
return 1
`;

/** KEYS: those of a registration. ARGV: access, the id, its seed. Deletes all data of a batch of which no part was published. */
export const WITHDRAW = `${REQUIRE_VIEW}${LUA_HOLD_ENTRIES}
freeEntries(ARGV[2])
freeEntries(ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[2])
redis.call('ZREM', KEYS[5], ARGV[2])
redis.call('ZREM', KEYS[6], ARGV[2])
redis.call('DEL', KEYS[2])
return 1
`;

/**
 * KEYS: marker, batches being published. ARGV: access, ms since the last attempt, how many at most.
 *
 * The entries without results are refunded. Those that were published all the same are charged again with their part.
 */
export const ABANDON = `${REQUIRE_VIEW}${LUA_HOLD_ENTRIES}
local time = redis.call('TIME')
local before = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[2])
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', before, 'LIMIT', 0, ARGV[3])
for _, requestId in ipairs(due) do
  redis.call('ZREM', KEYS[2], requestId)
  freeEntries(requestId)
  local key = 'batch:' .. requestId
  local clientId, charged, month, done = unpack(redis.call('HMGET', key, 'clientId', 'charged', 'month', 'done'))
  if clientId then
    redis.call('HSET', key, 'abandoned', '1')
    local refund = tonumber(charged or '0') - tonumber(done or '0')
    if month and refund > 0 then
      local counter = 'quota:{' .. clientId .. '}:' .. month
      local used = tonumber(redis.call('GET', counter) or '0')
      if used > 0 then redis.call('DECRBY', counter, math.min(refund, used)) end
      redis.call('HSET', key, 'charged', charged - refund)
    end
  end
end
return #due
`;

/**
 * KEYS: those of a registration, then lines, index, the reply channels that wait for the batch, the month's counter, the
 * figures of the day and of the hour. ARGV: those of a registration, then part, first index, line count, evaluated at, lines, refund ('0' for
 * none), the day's increments, and for each role its id and how many entries were granted, denied and undetermined.
 *
 * The first stored part wins; a copy changes nothing. Answers whether it was the first, and whether all parts are stored.
 */
export const SAVE_PART = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}${LUA_COUNT_DAY}${LUA_REFUND_MONTH}
local batch, part, lineCount, evaluatedAt = batchOf(ARGV), ARGV[13], tonumber(ARGV[15]), ARGV[16]
registerBatch(KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], batch)
local isCopy = redis.call('HSETNX', KEYS[7], part, ARGV[17]) == 0
redis.call('PEXPIREAT', KEYS[7], batch.retainUntilMs)
if not isCopy and tonumber(batch.retainUntilMs) - nowMs() < ${ENDS_SOON_MS} then
  isCopy = not redis.call('SET', 'saved:' .. batch.requestId .. '/' .. part, '1', 'NX', 'PX', ${SAVED_KEPT_MS})
end
if isCopy then return { 0, isComplete(KEYS[2], batch) and 1 or 0 } end
redis.call('ZADD', KEYS[8], ARGV[14], part .. ':' .. lineCount)
redis.call('HINCRBY', KEYS[2], 'partsDone', 1)
local done = redis.call('HINCRBY', KEYS[2], 'done', lineCount)
freeEntries(batch.requestId, lineCount)
for i = 20, #ARGV, 4 do
  for j, outcome in ipairs({ 'granted', 'denied', 'undetermined' }) do
    local count = tonumber(ARGV[i + j])
    if count > 0 then redis.call('HINCRBY', KEYS[2], outcome .. ':' .. ARGV[i], count) end
  end
end
if evaluatedAt > (redis.call('HGET', KEYS[2], 'evaluatedAt') or '') then
  redis.call('HSET', KEYS[2], 'evaluatedAt', evaluatedAt)
end
local complete = isComplete(KEYS[2], batch)
if complete then
  expireCounts(KEYS[2], batch)
  redis.call('ZREM', KEYS[3], batch.requestId)
  redis.call('ZREM', KEYS[4], batch.requestId)
  for _, channel in ipairs(redis.call('SMEMBERS', KEYS[9])) do redis.call('PUBLISH', channel, batch.requestId) end
end
redis.call('PEXPIREAT', KEYS[8], batch.retainUntilMs)
local charged = tonumber(redis.call('HGET', KEYS[2], 'charged') or done)
if done > charged then
  redis.call('INCRBY', KEYS[10], done - charged)
  redis.call('HSET', KEYS[2], 'charged', done)
end
refundMonth(KEYS[10], tonumber(ARGV[18]))
countDay(KEYS[11], KEYS[12], ARGV[19])
return { 1, complete and 1 or 0 }
`;

/** KEYS: marker, batch. */
export const READ_STATUS = `${REQUIRE_VIEW}
return redis.call('HGETALL', KEYS[2])
`;

/** KEYS: marker, index, lines. ARGV: access, the index of an entry. */
export const READ_PART = `${REQUIRE_VIEW}
local found = redis.call('ZREVRANGEBYSCORE', KEYS[2], ARGV[2], '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not found[1] then return false end
local part, lineCount = string.match(found[1], '^(%d+):(%d+)$')
if tonumber(ARGV[2]) >= tonumber(found[2]) + tonumber(lineCount) then return false end
return { found[2], lineCount, redis.call('HGET', KEYS[3], part) }
`;

/** KEYS: marker, index. ARGV: access, the index of an entry, most entries that matter. */
export const COUNT_FINISHED = `${REQUIRE_VIEW}
local from, to = tonumber(ARGV[2]), ARGV[2] + ARGV[3]
local held = redis.call('ZREVRANGEBYSCORE', KEYS[2], from, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
local parts = redis.call('ZRANGEBYSCORE', KEYS[2], held[2] or from, '(' .. to, 'WITHSCORES')
local finished = from
for i = 1, #parts, 2 do
  local first = tonumber(parts[i + 1])
  if first > finished then break end
  finished = math.max(finished, first + tonumber(string.match(parts[i], '^%d+:(%d+)$')))
end
return math.min(finished, to) - from
`;
