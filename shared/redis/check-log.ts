import { CHECK_LOG_COUNT_MAX, type LoggedCheck, parseCheckLine } from '#shared/contracts/check-log.ts';
import { DAY_MS } from '../contracts/durations.ts';
import { issuedAtOf } from '../contracts/request-id.ts';
import { inStore, type Redis } from './connect.ts';

/** A log without new checks ends after this time; the results of its checks end earlier. */
const KEPT_MS = 7 * DAY_MS;

export const checkLogKey = (clientId: string): string => `check-log:{${clientId}}`;

/**
 * `logCheck(key, line, acceptedAtMs)` adds a check to the log of its client app. The log is cut to its bound at every
 * 64th check only, to save time.
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

/** The newest checks of each client app: written where first results are saved. */
export type CheckLog = {
  /** Newest first; at most `CHECK_LOG_COUNT_MAX`. */
  readonly list: (clientId: string) => Promise<LoggedCheck[]>;
  /** One check of the log, found by the time in its id. */
  readonly find: (clientId: string, requestId: string) => Promise<LoggedCheck | undefined>;
};

/**
 * @example
 * const [newest] = await makeCheckLog(redis).list('app_1');
 */
export const makeCheckLog = (redis: Redis): CheckLog => ({
  list: (clientId) =>
    inStore(async () => {
      const lines = await redis.zrevrange(checkLogKey(clientId), 0, CHECK_LOG_COUNT_MAX - 1);
      return lines.flatMap((line) => parseCheckLine(line) ?? []);
    }),
  find: (clientId, requestId) =>
    inStore(async () => {
      const atMs = issuedAtOf(requestId);
      if (atMs === undefined) return undefined;
      const lines = await redis.zrangebyscore(checkLogKey(clientId), atMs, atMs);
      const line = lines.find((one) => one.startsWith(`${requestId} `));
      return line === undefined ? undefined : parseCheckLine(line);
    }),
});
