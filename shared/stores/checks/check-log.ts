import {
  CHECK_LOG_COUNT_MAX,
  type LoggedCheck,
  lineOfCheck,
  parseCheckLine,
} from '#shared/contracts/checks/check-log.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { REQUIRE_VIEW } from '#shared/redis/script.ts';

/** A log without new checks ends after this time; the results of its checks end earlier. */
const KEPT_MS = 7 * DAY_MS;

export const checkLogKey = (clientId: string): string => `check-log:{${clientId}}`;

/**
 * `logCheck(key, line, acceptedAtMs)` adds a check to the log of its client app. The log is cut to
 * its bound at every 64th check only, to save time.
 */
export const LUA_LOG_CHECK = `
local function logCheck(key, line, acceptedAtMs)
  redis.call('ZADD', key, acceptedAtMs, line)
  local count = redis.call('ZCARD', key)
  if count % 64 == 1 then
    redis.call('ZREMRANGEBYRANK', key, 0, -${CHECK_LOG_COUNT_MAX + 1})
    redis.call('PEXPIRE', key, ${KEPT_MS})
  end
end
`;

/** KEYS: the app's log. ARGV: id, line, accepted at. Nothing where the check is
 * logged already. */
const RESTORE = `${REQUIRE_VIEW}${LUA_LOG_CHECK}
for _, line in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], ARGV[3], ARGV[3])) do
  if string.sub(line, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then return 0 end
end
logCheck(KEYS[1], ARGV[2], ARGV[3])
return 1
`;

const REQUEST_ID = /^[A-Za-z0-9_-]{40}$/;

/** The instant that a request id says it was issued at, epoch ms; undefined for a text of another
 * shape. Nothing tells that it really was issued: the gateway alone verifies ids. */
const issuedAtOf = (requestId: string): number | undefined =>
  REQUEST_ID.test(requestId) ? Buffer.from(requestId, 'base64url').readUIntBE(2, 6) : undefined;

/** The newest checks of each client app: written where first results are saved. */
export function makeCheckLog(redis: Redis) {
  const restore = makeBatchedScript<number>(redis, RESTORE);
  return {
    /** Newest first; at most `CHECK_LOG_COUNT_MAX`. */
    list: (clientId: string): Promise<LoggedCheck[]> =>
      inStore(async () => {
        const lines = await redis.zrevrange(checkLogKey(clientId), 0, CHECK_LOG_COUNT_MAX - 1);
        return lines.flatMap((line) => parseCheckLine(line) ?? []);
      }),
    /** One check of the log, found by the time in its id. */
    find: (clientId: string, requestId: string): Promise<LoggedCheck | undefined> =>
      inStore(async () => {
        const atMs = issuedAtOf(requestId);
        if (atMs === undefined) return undefined;
        const lines = await redis.zrangebyscore(checkLogKey(clientId), atMs, atMs);
        const line = lines.find((one) => one.startsWith(`${requestId} `));
        return line === undefined ? undefined : parseCheckLine(line);
      }),
    /** Removes the log of an app that is gone. */
    forget: (clientId: string): Promise<void> =>
      inStore(async () => void (await redis.unlink(checkLogKey(clientId)))),
    /** Logs a check whose result is no longer kept, for a replay. */
    async restore({
      clientId,
      logged,
    }: {
      readonly clientId: string;
      readonly logged: LoggedCheck;
    }): Promise<void> {
      const { requestId, acceptedAtMs } = logged;
      const keys = [checkLogKey(clientId)];
      await restore(keys, [requestId, lineOfCheck(logged), acceptedAtMs]);
    },
  };
}
