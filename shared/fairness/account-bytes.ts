import { ServiceError } from '#shared/errors.ts';
import type { Logger } from '#shared/telemetry/log.ts';
import { makeThrottledWarning } from '#shared/telemetry/log-throttle.ts';
import { DAY_MS, HOUR_MS } from '../contracts/durations.ts';
import type { Redis } from '../redis/connect.ts';
import { LUA_NOW } from '../redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '../redis/script.ts';
import { ACCOUNT_SUMMARIES_KEY } from '../stores/apps/accounts.ts';
import { APP_SUMMARIES_KEY } from '../stores/apps/client-apps.ts';
import { LUA_ACCOUNT_BYTES, LUA_NOTE_ACTIVE } from '../stores/usage/usage-days.ts';

/** How often written bytes are added to the sums, and so how much later than its write a record
 * counts. */
const INTERVAL_MS = 100;
const LOG_INTERVAL_MS = 10_000;
/** Apps in one command: while it runs, Redis does nothing else. */
const APPS_MAX = 256;

/**
 * KEYS: the apps' and the accounts' summaries. ARGV: for each app its id and the bytes to add.
 * Answers for each app the time, the sum of its account's day and the most that it may be; '' where
 * the app is unknown.
 */
const COUNT = `${REQUIRE_VIEW}${LUA_NOW}${LUA_NOTE_ACTIVE}${LUA_ACCOUNT_BYTES}
local day, answers = math.floor(now / ${DAY_MS}), {}
for i = 1, #ARGV, 2 do
  local client, bytes = ARGV[i], tonumber(ARGV[i + 1])
  local json, answer = redis.call('HGET', KEYS[1], client), ''
  if json then
    local app = cjson.decode(json)
    if bytes > 0 then
      countBytes(app.accountId, client, day, bytes)
      noteActive(client, math.floor(now / ${HOUR_MS}))
    end
    local limits = redis.call('HGET', KEYS[2], app.accountId)
    local sum, max = accountBytes(app.accountId, (limits and cjson.decode(limits) or app.limits).requestsPerMonth, day)
    answer = string.format('%.0f %.0f %.0f', now, sum, max)
  end
  answers[#answers + 1] = answer
end
return answers
`;

const KEYS = [APP_SUMMARIES_KEY, ACCOUNT_SUMMARIES_KEY];

/** The bytes that the account of an app has made the system keep today (UTC), and the most that it
 * may. */
export type DayOfAccount = { readonly nowMs: number; readonly bytes: number; readonly bytesMax: number };

export type AccountBytes = ReturnType<typeof makeAccountBytes>;

const isFull = ({ bytes, bytesMax }: DayOfAccount): boolean => bytes >= bytesMax;

export const msUntilMidnight = (nowMs: number): number => DAY_MS - (nowMs % DAY_MS);

function makeCount(redis: Redis) {
  const run = makeScript<string[]>(redis, COUNT);
  return async (apps: readonly (readonly [clientId: string, bytes: number])[]): Promise<DayOfAccount[]> =>
    (await run(KEYS, apps.flat())).map((answer) => {
      const [nowMs = 0, bytes = 0, bytesMax = Infinity] = answer === '' ? [] : answer.split(' ').map(Number);
      return { nowMs, bytes, bytesMax };
    });
}

export function makeAccountBytes(redis: Redis) {
  const count = makeCount(redis);
  const read = async (clientId: string): Promise<DayOfAccount> => {
    const [day] = await count([[clientId, 0]]);
    return day ?? { nowMs: 0, bytes: 0, bytesMax: Infinity };
  };
  return {
    read,
    /** @throws ServiceError `bytes-exceeded`, with the time until midnight */
    async requireRoom(clientId: string): Promise<void> {
      const day = await read(clientId);
      if (isFull(day))
        throw new ServiceError('bytes-exceeded', 'the account has used its bytes of the day', {
          retryAfterMs: msUntilMidnight(day.nowMs),
        });
    },
  };
}

/**
 * Counts the bytes of the records that a process writes: adds them to the sums of their accounts,
 * those of 100 ms together. Bytes that could not be added are added later; a process that is killed
 * loses those of its last 100 ms.
 */
export function startCountingBytes(redis: Redis, log: Pick<Logger, 'warn'>) {
  const count = makeCount(redis);
  const waiting = new Map<string, number>();
  const full = new Set<string>();
  const warn = makeThrottledWarning(log, 'written bytes could not be counted', LOG_INTERVAL_MS);
  const put = (clientId: string, bytes: number): void => {
    waiting.set(clientId, (waiting.get(clientId) ?? 0) + bytes);
  };
  const flush = async (): Promise<void> => {
    while (waiting.size > 0) {
      const apps = [...waiting.entries().take(APPS_MAX)];
      for (const [clientId] of apps) waiting.delete(clientId);
      const days = await count(apps).catch((error: unknown) => {
        for (const [clientId, bytes] of apps) put(clientId, bytes);
        throw error;
      });
      for (const [index, day] of days.entries()) {
        const clientId = apps[index]?.[0] ?? '';
        if (isFull(day)) full.add(clientId);
        else full.delete(clientId);
      }
    }
  };
  // No periodic timer: it would wake an idle process ten times a second.
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const flushSoon = (): void => {
    if (isEnded) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      flush().catch((error: unknown) => {
        warn(error);
        flushSoon();
      });
    }, INTERVAL_MS).unref();
  };
  return {
    add(clientId: string, bytes: number): void {
      put(clientId, bytes);
      flushSoon();
    },
    /** Whether the account of an app had used its bytes of the day when the app's last record was
     * counted. */
    isFull: (clientId: string): boolean => full.has(clientId),
    async [Symbol.asyncDispose]() {
      isEnded = true;
      clearTimeout(timer);
      await flush().catch(() => undefined);
    },
  };
}
