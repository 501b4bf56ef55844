import { DAY_BYTES } from '#shared/contracts/apps/tiers.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import {
  BYTES_FIGURE,
  DAY_FIGURES_MAX,
  type DayFigures,
  KEY_FIGURE,
  OTHER_KEYS_FIGURE,
} from '#shared/contracts/usage/day-figures.ts';
import { APPROVED_APPS } from '#shared/fairness/leased-slots.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { APP_SUMMARIES_KEY } from '../apps/client-apps.ts';

/** A day's figures are kept that long after the day. */
export const DAY_KEPT_MS = 40 * DAY_MS;

export const HOUR_KEPT_MS = 50 * HOUR_MS;

/** The apps whose totals are to be published are kept until they were published for the last time. */
const USAGE_KEPT_MS = 3 * HOUR_MS;
const USAGE_APPS = 'usage:apps:';
export const usageAppsKey = (hour: number): string => `${USAGE_APPS}${hour}`;

/** `noteActive(client, hour)`: has the client app's totals published, because they have changed in
 * this hour. */
export const LUA_NOTE_ACTIVE = `
local function noteActive(client, hour)
  local apps = ofSystem('${USAGE_APPS}' .. string.format('%.0f', hour))
  if redis.call('SADD', apps, client) == 1 then redis.call('PEXPIRE', apps, ${USAGE_KEPT_MS}) end
end
`;

/** Days since 1970, as the keys have them: admission's script works them out of its clock. */
export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);
export const dayOfDate = (date: string): number => dayOf(Date.parse(`${date}T00:00:00Z`));
export const dateOf = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

export const usageDayKey = (clientId: string, day: number): string => `usage-day:{${clientId}}:${day}`;

/** The figures of one hour, counted since 1970: as those of a day, without the keys. */
export const usageHourKey = (clientId: string, hour: number): string => `usage-hour:{${clientId}}:${hour}`;
/** Hours since 1970, as the keys have them. */
export const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

/** The figures of a stored hash, by its names and values. */
export const figuresFrom = (stored: readonly (readonly [string, string])[]): DayFigures =>
  Object.fromEntries(stored.map(([name, value]) => [name, Number(value)]));

/**
 * `countDay(dayKey, hourKey, figures)` adds figures, written as `textOfFigures` does, to a day and
 * to an hour of it. A day has a bounded number of figures: further API keys are counted together.
 */
export const LUA_COUNT_DAY = `
local function addFigure(key, name, value, keptMs)
  if redis.call('HINCRBY', key, name, value) == tonumber(value) then redis.call('PEXPIRE', key, keptMs) end
end
local function countDay(dayKey, hourKey, figures)
  for name, value in string.gmatch(figures, '(%S+) (%S+)') do
    if string.sub(name, 1, ${KEY_FIGURE.length}) ~= '${KEY_FIGURE}' then
      addFigure(dayKey, name, value, ${DAY_KEPT_MS})
      addFigure(hourKey, name, value, ${HOUR_KEPT_MS})
    elseif redis.call('HLEN', dayKey) < ${DAY_FIGURES_MAX} or redis.call('HEXISTS', dayKey, name) == 1 then
      addFigure(dayKey, name, value, ${DAY_KEPT_MS})
    else
      addFigure(dayKey, '${OTHER_KEYS_FIGURE}', value, ${DAY_KEPT_MS})
    end
  end
end
`;

/**
 * The bytes that an account makes the system keep on one day: one sum for all of its apps, and how
 * much of it each app has. Only the sum is compared, with `DAY_BYTES`; the apps' figures are
 * published with `usage.v1`, and add up to the sum when it is restored.
 *
 *   `accountBytes(account, quota, day)` returns the sum, and the most that it may be
 *   `countBytes(account, client, day, bytes)` adds to it
 *   `uncountBytes(account, client, day, bytes)` takes back what was not written
 */
export const LUA_ACCOUNT_BYTES = `
local function accountBytesKey(account, day)
  return ofSystem('account-bytes:' .. account .. ':' .. string.format('%.0f', day))
end
local function accountBytes(account, quota, day)
  local apps = math.min(${DAY_BYTES.appsMax}, redis.call('ZCARD', ofSystem('${APPROVED_APPS}' .. account)))
  local max = math.max(${DAY_BYTES.min}, math.floor(quota * apps * ${DAY_BYTES.perCheck} / ${DAY_BYTES.daysOfQuota}))
  return tonumber(redis.call('GET', accountBytesKey(account, day)) or '0'), max
end
local function addToAccount(account, day, bytes)
  local sum = accountBytesKey(account, day)
  if redis.call('INCRBY', sum, bytes) == bytes then redis.call('PEXPIRE', sum, ${2 * DAY_MS}) end
end
local function appDayKey(client, day)
  return ofSystem('usage-day:{' .. client .. '}:' .. string.format('%.0f', day))
end
local function countBytes(account, client, day, bytes)
  addToAccount(account, day, bytes)
  local ofApp = appDayKey(client, day)
  if redis.call('HINCRBY', ofApp, '${BYTES_FIGURE}', bytes) == bytes then redis.call('PEXPIRE', ofApp, ${DAY_KEPT_MS}) end
end
local function uncountBytes(account, client, day, bytes)
  local sum, ofApp = accountBytesKey(account, day), appDayKey(client, day)
  local counted = math.min(
    tonumber(redis.call('GET', sum) or '0'), tonumber(redis.call('HGET', ofApp, '${BYTES_FIGURE}') or '0'))
  -- Redis may have lost a part of it.
  local taken = math.min(bytes, counted)
  if taken > 0 then
    redis.call('DECRBY', sum, taken)
    redis.call('HINCRBY', ofApp, '${BYTES_FIGURE}', -taken)
  end
end
`;

export const textOfFigures = (figures: DayFigures): string => Object.entries(figures).flat().join(' ');

/**
 * KEYS: the day or hour, the apps' summaries. ARGV: ms until it ends, the client app ('' for an
 * hour), the day, names and values. No figure is lowered. What is added to today's bytes is also
 * added to the account's sum.
 */
const RESTORE = `${REQUIRE_VIEW}${LUA_NOW}${LUA_ACCOUNT_BYTES}
local bytes = 0
for i = 4, #ARGV, 2 do
  local missing = tonumber(ARGV[i + 1]) - tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '0')
  if missing > 0 then redis.call('HINCRBY', KEYS[1], ARGV[i], missing) end
  if missing > 0 and ARGV[i] == '${BYTES_FIGURE}' then bytes = missing end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
local app = bytes > 0 and ARGV[2] ~= '' and redis.call('HGET', KEYS[2], ARGV[2])
if app and tonumber(ARGV[3]) == math.floor(now / ${DAY_MS}) then
  addToAccount(cjson.decode(app).accountId, tonumber(ARGV[3]), bytes)
end
return 1
`;

/**
 * The activity of client apps by day: written where first results are saved and where requests are
 * refused.
 */
export function makeUsageDays(redis: Redis) {
  const replace = makeScript<number>(redis, RESTORE);
  const restore = async (
    key: string,
    figures: DayFigures,
    args: readonly [keptMs: number, clientId: string, day: number],
  ) => {
    const flat = Object.entries(figures).flat();
    if (flat.length > 0) await replace([key, APP_SUMMARIES_KEY], [...args, ...flat]);
  };
  const readAll = (keys: readonly string[]) =>
    inStore(() =>
      Promise.all(keys.map(async (key) => figuresFrom(Object.entries(await redis.hgetall(key))))),
    );
  return {
    /** In the order of `days`, which are counted since 1970; a day without anything is empty. */
    read: (clientId: string, days: readonly number[]): Promise<DayFigures[]> =>
      readAll(days.map((day) => usageDayKey(clientId, day))),
    /** In the order of `hours`, which are counted since 1970; kept for `HOUR_KEPT_MS`. */
    readHours: (clientId: string, hours: readonly number[]): Promise<DayFigures[]> =>
      readAll(hours.map((hour) => usageHourKey(clientId, hour))),
    /** Raises the figures of a day to these, for a replay. */
    restore: (clientId: string, day: number, figures: DayFigures): Promise<void> =>
      restore(usageDayKey(clientId, day), figures, [DAY_KEPT_MS, clientId, day]),
    restoreHour: (clientId: string, hour: number, figures: DayFigures): Promise<void> =>
      restore(usageHourKey(clientId, hour), figures, [HOUR_KEPT_MS, '', 0]),
  };
}
