import { DAY_MS } from '#shared/contracts/durations.ts';
import { REQUIRE_VIEW } from './view.ts';

// The scripts of stored batches; `batches.ts` calls them.

/** A part that ends within this time of being saved may be gone when it is handed in again. */
const ENDS_SOON_MS = 600_000;
/** How long it is remembered then that it was saved. */
const SAVED_KEPT_MS = DAY_MS;

/**
 * Registers a batch unless it is registered. A batch of which all parts are stored is not unfinished, however late its
 * registration is written.
 */
export const LUA_REGISTER_BATCH = `
local function registerBatch(batchKey, ofAppKey, unfinishedKey, batch)
  if redis.call('HEXISTS', batchKey, 'parts') == 0 then
    redis.call('HSET', batchKey, 'clientId', batch.clientId, 'entries', batch.entries, 'parts', batch.parts,
      'acceptedAt', batch.acceptedAt, 'ruleSet', batch.ruleSet)
  end
  if batch.roleIds ~= '[]' then redis.call('HSETNX', batchKey, 'roleIds', batch.roleIds) end
  redis.call('PEXPIREAT', batchKey, batch.retainUntilMs)
  local stored = tonumber(redis.call('HGET', batchKey, 'partsDone') or '0')
  if stored >= tonumber(batch.parts) then return end
  redis.call('ZADD', ofAppKey, batch.retainUntilMs, batch.requestId)
  redis.call('PEXPIREAT', ofAppKey, batch.retainUntilMs, 'NX')
  redis.call('PEXPIREAT', ofAppKey, batch.retainUntilMs, 'GT')
  redis.call('ZADD', unfinishedKey, batch.acceptedAtMs, batch.requestId)
end
local function batchOf(ARGV)
  return { requestId = ARGV[2], clientId = ARGV[3], entries = ARGV[4], parts = ARGV[5], acceptedAt = ARGV[6],
    acceptedAtMs = ARGV[7], retainUntilMs = ARGV[8], ruleSet = ARGV[9], roleIds = ARGV[10] }
end
`;

/** KEYS: marker, batch, the app's unfinished batches, all unfinished batches. */
export const REGISTER = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
registerBatch(KEYS[2], KEYS[3], KEYS[4], batchOf(ARGV))
return 1
`;

/**
 * KEYS: those of a registration, then lines, index, those who want to hear of the batch, the month's counter.
 * ARGV: those of a registration, then part, first index, line count, evaluated at, lines, refund ('0' for none),
 * and for each role its id and how many entries were granted, denied and undetermined.
 *
 * The first stored part wins; a copy changes nothing. Answers whether it was the first, and whether all parts are stored.
 */
export const SAVE_PART = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
local batch, part, lineCount, evaluatedAt = batchOf(ARGV), ARGV[11], tonumber(ARGV[13]), ARGV[14]
registerBatch(KEYS[2], KEYS[3], KEYS[4], batch)
local function isComplete()
  return tonumber(redis.call('HGET', KEYS[2], 'partsDone') or '0') >= tonumber(batch.parts) and 1 or 0
end
if redis.call('HSETNX', KEYS[5], part, ARGV[15]) == 0 then return { 0, isComplete() } end
redis.call('ZADD', KEYS[6], ARGV[12], part .. ':' .. lineCount)
redis.call('HINCRBY', KEYS[2], 'partsDone', 1)
redis.call('HINCRBY', KEYS[2], 'done', lineCount)
for i = 17, #ARGV, 4 do
  for j, outcome in ipairs({ 'granted', 'denied', 'undetermined' }) do
    local count = tonumber(ARGV[i + j])
    if count > 0 then redis.call('HINCRBY', KEYS[2], outcome .. ':' .. ARGV[i], count) end
  end
end
if evaluatedAt > (redis.call('HGET', KEYS[2], 'evaluatedAt') or '') then
  redis.call('HSET', KEYS[2], 'evaluatedAt', evaluatedAt)
end
local complete = isComplete()
if complete == 1 then
  redis.call('ZREM', KEYS[3], batch.requestId)
  redis.call('ZREM', KEYS[4], batch.requestId)
  for _, channel in ipairs(redis.call('SMEMBERS', KEYS[7])) do redis.call('PUBLISH', channel, batch.requestId) end
end
for i = 5, 6 do redis.call('PEXPIREAT', KEYS[i], batch.retainUntilMs) end
local time = redis.call('TIME')
if tonumber(batch.retainUntilMs) - time[1] * 1000 < ${ENDS_SOON_MS}
  and not redis.call('SET', 'saved:' .. batch.requestId .. '/' .. part, '1', 'NX', 'PX', ${SAVED_KEPT_MS}) then
  return { 0, complete }
end
local refund = math.min(tonumber(ARGV[16]), tonumber(redis.call('GET', KEYS[8]) or '0'))
if refund > 0 then redis.call('DECRBY', KEYS[8], refund) end
return { 1, complete }
`;

/** KEYS: marker, batch. */
export const READ_STATUS = `${REQUIRE_VIEW}
return redis.call('HGETALL', KEYS[2])
`;

/** KEYS: marker, index, lines. ARGV: access, the place of an entry. */
export const READ_PART = `${REQUIRE_VIEW}
local found = redis.call('ZREVRANGEBYSCORE', KEYS[2], ARGV[2], '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not found[1] then return false end
local part, lineCount = string.match(found[1], '^(%d+):(%d+)$')
if tonumber(ARGV[2]) >= tonumber(found[2]) + tonumber(lineCount) then return false end
return { found[2], lineCount, redis.call('HGET', KEYS[3], part) }
`;

/** KEYS: marker, index. ARGV: access, the place of an entry, most entries that matter. */
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
