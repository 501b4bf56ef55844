import { HOUR_MS } from '#shared/contracts/durations.ts';
import { DELIVERY_MS_MAX, type WebhookRetry } from '#shared/contracts/webhooks/webhook.ts';
import { REQUIRE_VIEW } from '#shared/redis/view.ts';
import { LUA_SAVE_IF_ABSENT } from '../checks/results.ts';

/*
 * One hash per delivery: `state`, and its progress as (`resendCount`, `step`, `place`).
 *
 *   resendCount  a record with a lower one is superseded.
 *   step   attempts made since that resend. A record at an earlier step is superseded.
 *   place  the position of the Kafka record that has claimed this step, or ''.
 *   deferrals  how often that record was deferred. A record that was deferred more often takes the claim over: it exists
 *          because the holder deferred, and Redis may have lost the release of the claim. If the holder was read again and is
 *          being attempted, the step is attempted twice.
 *
 *   (no hash) ──claim──► pending, place ──record──► pending, step + 1, place ''   (the next record claims it)
 *                          │   ▲                └──► delivered | stopped | exhausted   (a later resend claims it)
 *                          └───┘ deferred: place ''
 *
 * A delivery that was given up at a step without an attempt may be claimed at that step again, by a dead-lettered
 * record that an operator has sent again.
 *
 * So of two records at one step that were deferred equally often, the first to claim is handled, however often it is read, and the
 * other is dropped.
 */

export const deliveryKey = (requestId: string): string => `webhook:${requestId}`;

/** A delivery is kept until its result expires, and at least this long after its last change. */
export const DELIVERY_KEPT_MS = 72 * HOUR_MS;
/** From each claim, deferral and failed attempt on, a body is kept that long: its delivery has ended by then. */
const BODY_KEPT_MS = DELIVERY_MS_MAX + HOUR_MS;

/** Until when a body must be kept for a delivery that is open, epoch ms; undefined if its retention is longer. */
export function keepBodyUntil(
  { retainUntil }: Pick<WebhookRetry, 'retainUntil'>,
  nowMs: number,
): number | undefined {
  const endsAtMs = nowMs + BODY_KEPT_MS;
  return Date.parse(retainUntil) < endsAtMs ? endsAtMs : undefined;
}

/** Most deliveries listed per client app; older ones are still shown by their id. */
export const LISTED_MAX = 10_000;
/** Most failed deliveries kept per client app for "send all failed again". */
export const FAILED_MAX = 100_000;
/** Bytes of attempt lines kept with a delivery, the newest: about 80 attempts. */
const ATTEMPT_LINES_BYTES_MAX = 16_384;

/**
 * Adds to one of a client app's lists, which expires no sooner than its last entry. The list is cut to its bound at every
 * 64th entry only, to save time.
 */
const addToList = (key: number, score: string, expireAt: string, countMax: number): string => `
  redis.call('ZADD', KEYS[${key}], ${score}, requestId)
  local listed = redis.call('ZCARD', KEYS[${key}])
  if listed == 1 then redis.call('PEXPIREAT', KEYS[${key}], ${expireAt})
  else redis.call('PEXPIREAT', KEYS[${key}], ${expireAt}, 'GT') end
  if listed % 64 == 1 then redis.call('ZREMRANGEBYRANK', KEYS[${key}], 0, -${countMax + 1}) end`;

/**
 * `keepBody(key, body, keepUntil)` keeps a stored body until then, unless it is kept longer; stores `body` if it is not ''
 * and none is stored. Nothing where `keepUntil` is '': the retention of the body is long enough.
 */
export const LUA_KEEP_BODY = `
local function keepBody(key, body, keepUntil)
  if keepUntil == '' then return end
  if body ~= '' then redis.call('SET', key, body, 'NX', 'PXAT', keepUntil) end
  redis.call('PEXPIREAT', key, keepUntil, 'GT')
end
`;

const LUA_CLAIM = `${LUA_KEEP_BODY}
local function claim(KEYS, ARGV)
local requestId, resendCount, step, place = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local found = redis.call('HMGET', KEYS[2], 'resendCount', 'step', 'place', 'state', 'deferrals')
local deferrals = tonumber(ARGV[13])
if found[1] then
  local foundCount, foundStep = tonumber(found[1]), tonumber(found[2])
  if resendCount < foundCount then return 'superseded' end
  if resendCount == foundCount then
    if step < foundStep then return 'superseded' end
    if found[4] ~= 'pending' and not (found[4] == 'exhausted' and step == foundStep) then return 'finished' end
    local isHeld = step == foundStep and found[3] ~= '' and found[3] ~= place
    if isHeld and deferrals <= tonumber(found[5] or '0') then return 'taken' end
  end
end
redis.call('HSET', KEYS[2], 'resendCount', resendCount, 'step', step, 'place', place, 'deferrals', deferrals, 'state', 'pending',
  'clientId', ARGV[6], 'callbackUrl', ARGV[7], 'acceptedAt', ARGV[8], 'retainUntil', ARGV[9])
redis.call('PEXPIREAT', KEYS[2], ARGV[12])
if found[1] then
  redis.call('HDEL', KEYS[2], 'nextAttemptAt')
  if found[4] ~= 'pending' then redis.call('ZREM', KEYS[4], requestId) end
else ${addToList(3, 'ARGV[11]', 'ARGV[12]', LISTED_MAX)} end
redis.call('ZADD', KEYS[5], 'NX', ARGV[10], requestId)
keepBody(KEYS[6], ARGV[15], ARGV[14])
return 'claimed'
end
`;

/** KEYS: marker, delivery, list, failed, undelivered, the stored body. */
export const CLAIM = `${REQUIRE_VIEW}${LUA_CLAIM}
return claim(KEYS, ARGV)
`;

/** KEYS: those of a claim, whose last is the result; then of saving: its waiters, the day, the month, the app's log, the hour. */
export const SAVE_AND_CLAIM = `${REQUIRE_VIEW}${LUA_CLAIM}${LUA_SAVE_IF_ABSENT}
local stored = saveIfAbsent(ARGV[2], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11],
  ARGV[15], ARGV[16], ARGV[17], ARGV[18], ARGV[19])
return { claim(KEYS, ARGV), stored }
`;

/** KEYS: marker, delivery, the stored body. ARGV: access, resend count, step, place, next attempt, keep the body until. */
export const RELEASE_CLAIM = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
local found = redis.call('HMGET', KEYS[2], 'resendCount', 'step', 'place', 'state')
if found[4] == 'pending' then keepBody(KEYS[3], '', ARGV[6]) end
if found[1] ~= ARGV[2] or found[2] ~= ARGV[3] or found[3] ~= ARGV[4] then return 0 end
redis.call('HSET', KEYS[2], 'place', '', 'nextAttemptAt', ARGV[5])
return 1
`;

/**
 * KEYS: marker, delivery, list, failed, undelivered, the stored body. An empty step is a delivery given up without an attempt.
 * A body that was kept beyond its retention ends with its delivery.
 * A line that is already stored is not added again, so a rebuild may read a record twice.
 */
export const RECORD = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
local requestId, resendCount, step, state = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local line, nextAttemptAt = ARGV[6], ARGV[7]
local found = redis.call('HMGET', KEYS[2], 'resendCount', 'step', 'attempts', 'state', 'place')
local foundCount, foundStep, lines = tonumber(found[1]), tonumber(found[2]), found[3] or ''
local fields = {}
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
if line ~= '' and not string.find(lines, line, 1, true) then
  lines = lines .. line .. '\\n'
  while #lines > ${ATTEMPT_LINES_BYTES_MAX} do lines = string.sub(lines, string.find(lines, '\\n', 1, true) + 1) end
  set('attempts', lines)
end
if not foundCount then
  set('clientId', ARGV[8]) set('callbackUrl', ARGV[9]) set('retainUntil', ARGV[10])
  ${addToList(3, 'ARGV[11]', 'ARGV[12]', LISTED_MAX)}
end
local advances = not foundCount or resendCount > foundCount
  or (resendCount == foundCount and found[4] == 'pending' and (not step or step > foundStep))
if advances then
  set('resendCount', resendCount) set('step', step or foundStep or 0) set('place', '') set('state', state)
  if nextAttemptAt ~= '' then set('nextAttemptAt', nextAttemptAt)
  elseif foundStep ~= 0 then redis.call('HDEL', KEYS[2], 'nextAttemptAt') end
  if state == 'pending' then
    redis.call('ZADD', KEYS[5], 'NX', ARGV[11], requestId)
    keepBody(KEYS[6], '', ARGV[13])
  else
    redis.call('ZREM', KEYS[5], requestId)
    if ARGV[13] ~= '' then redis.call('PEXPIREAT', KEYS[6], ARGV[13]) end
  end
  if state == 'exhausted' or state == 'stopped' then ${addToList(4, 'ARGV[11]', 'ARGV[12]', FAILED_MAX)}
  elseif not foundCount or resendCount ~= foundCount then redis.call('ZREM', KEYS[4], requestId) end
end
if #fields > 0 then redis.call('HSET', KEYS[2], unpack(fields)) end
-- A claim has already set the expiry.
if not foundCount or (advances and found[5] == '') then redis.call('PEXPIREAT', KEYS[2], ARGV[12]) end
return 1
`;
