import { SHARE_TOLERANCE } from '#shared/contracts/watches/watch.ts';
import { REQUIRE_VIEW } from '#shared/redis/view.ts';
import { LUA_WALLETS } from './wallet-index.ts';

/** Revocations of this long count together. */
export const REVOKED_TOGETHER_MS = 3_600_000;

/**
 * Writes one member, if it is still at the version that the writer read; with it all that follows from it, so that
 * nothing is counted twice.
 *
 * KEYS: marker, members of the partition, ids, withheld, figures, sweep, due, outbox, members of the apps, tombstones, due
 * times of watches.
 * ARGV: access, member id, version before ('' for none), stored, name (uid and member id), client id, 1 if it is not
 * removed, 1 if something is withheld, 1 if its event is to be published, due time ('' for none), changes of the
 * figures (JSON), the sweep, changes of its tally (JSON), new revocations by the key of their role (JSON), wallets to
 * add, wallets to remove, now, the watch's member in the due times.
 */
export const WRITE = `${REQUIRE_VIEW}
local id, name = ARGV[2], ARGV[5]
local stored = redis.call('HGET', KEYS[2], id)
if (stored and string.match(stored, '^(%d+) ') or '') ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[2], id, ARGV[4])
if ARGV[7] == '1' then
  redis.call('ZADD', KEYS[3], 0, id)
  redis.call('ZREM', KEYS[10], name)
else
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZADD', KEYS[10], ARGV[17], name)
end
redis.call(ARGV[8] == '1' and 'SADD' or 'SREM', KEYS[4], id)
redis.call(ARGV[9] == '1' and 'SADD' or 'SREM', KEYS[8], name)
if ARGV[10] == '' then redis.call('ZREM', KEYS[7], name) else redis.call('ZADD', KEYS[7], ARGV[10], name) end
for figure, change in pairs(cjson.decode(ARGV[11])) do
  if redis.call('HINCRBY', KEYS[5], figure, change) == 0 then redis.call('HDEL', KEYS[5], figure) end
  if figure == 'members' then redis.call('HINCRBY', KEYS[9], ARGV[6], change) end
  if string.sub(figure, 1, 5) == 'held/' then redis.call('ZADD', KEYS[11], 'LT', ARGV[17], ARGV[18]) end
end
if ARGV[12] ~= '' and redis.call('HGET', KEYS[6], 'sweep') == ARGV[12] then
  for figure, change in pairs(cjson.decode(ARGV[13])) do redis.call('HINCRBY', KEYS[6], figure, change) end
end
for key, at in pairs(cjson.decode(ARGV[14])) do
  redis.call('ZADD', key, at, id)
  redis.call('PEXPIRE', key, ${REVOKED_TOGETHER_MS})
end
${LUA_WALLETS}
for wallet in string.gmatch(ARGV[15], '%S+') do addToWallet(wallet, name, id) end
for wallet in string.gmatch(ARGV[16], '%S+') do removeFromWallet(wallet, name, id) end
return 1
`;

/**
 * KEYS: marker, members of the partition, due. ARGV: access, uid, then member id, version and text for each. A member that
 * has changed since stays as it is, and due: its new wallets were not checked.
 */
export const REFRESH = `${REQUIRE_VIEW}
local ids, names, fields = {}, {}, {}
for i = 3, #ARGV, 3 do ids[#ids + 1] = ARGV[i] end
for i, stored in ipairs(redis.call('HMGET', KEYS[2], unpack(ids))) do
  if stored and string.match(stored, '^(%d+) ') == ARGV[3 * i + 1] then
    fields[#fields + 1] = ids[i]
    fields[#fields + 1] = ARGV[3 * i + 2]
    names[#names + 1] = ARGV[2] .. '/' .. ids[i]
  end
end
if #fields == 0 then return 0 end
redis.call('HSET', KEYS[2], unpack(fields))
if redis.call('EXISTS', KEYS[3]) == 1 then redis.call('ZREM', KEYS[3], unpack(names)) end
return 1
`;

/** KEYS: marker, members of whom something is withheld. ARGV: access. */
export const READ_WITHHELD = `${REQUIRE_VIEW}
return redis.call('SMEMBERS', KEYS[2])
`;

/**
 * KEYS: members of each partition. ARGV: for each member the index of its partition among the keys, its id and a version.
 * Returns those that are newer, '' in place of the others: many large members at once would not be read in time.
 */
export const READ_NEWER = `
local newer = {}
for i = 1, #ARGV, 3 do
  local stored = redis.call('HGET', KEYS[tonumber(ARGV[i])], ARGV[i + 1])
  local version = stored and tonumber(string.match(stored, '^(%d+) '))
  newer[#newer + 1] = version and version > tonumber(ARGV[i + 2]) and stored or ''
end
return newer
`;

/**
 * KEYS: marker, members of the partition, outbox. ARGV: access, member id, version, text without the event ('' if there was
 * none), name. Returns 0 if the member has changed since. A member that is not in the outbox was marked before, and may have been refreshed
 * since, which leaves its version: it is not written again.
 */
export const MARK_SENT = `${REQUIRE_VIEW}
local stored = redis.call('HGET', KEYS[2], ARGV[2])
if not stored or string.match(stored, '^(%d+) ') ~= ARGV[3] then return 0 end
if redis.call('SISMEMBER', KEYS[3], ARGV[5]) == 0 then return 1 end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], ARGV[2], ARGV[4]) end
redis.call('SREM', KEYS[3], ARGV[5])
return 1
`;

/**
 * Returns the members that may lose the role now. KEYS: marker, revocations of the role. ARGV: access, now,
 * holders, held revocations, share, least count, then member ids. An allowed member stays allowed for the hour.
 */
export const MAY_REVOKE = `${REQUIRE_VIEW}
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[2] - ${REVOKED_TOGETHER_MS})
local count = redis.call('ZCARD', KEYS[2])
local holders = tonumber(ARGV[3]) + count
local allowed = {}
for i = 7, #ARGV do
  if redis.call('ZSCORE', KEYS[2], ARGV[i]) then allowed[#allowed + 1] = ARGV[i]
  else
    local total = count + tonumber(ARGV[4]) + 1
    if not (total >= tonumber(ARGV[6]) and total > tonumber(ARGV[5]) * holders + ${SHARE_TOLERANCE}) then
      redis.call('ZADD', KEYS[2], ARGV[2], ARGV[i])
      count = count + 1
      allowed[#allowed + 1] = ARGV[i]
    end
  end
end
redis.call('PEXPIRE', KEYS[2], ${REVOKED_TOGETHER_MS})
return allowed
`;
