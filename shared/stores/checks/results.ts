import type { CheckCompleted } from '#shared/contracts/checks/check-completed.ts';
import { lineOfCheck } from '#shared/contracts/checks/check-log.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { type CountedCheck, countCheck } from '#shared/contracts/usage/day-figures.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { makeScript } from '#shared/redis/script.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW, type ViewAccess } from '#shared/redis/view.ts';
import {
  dayOfDate,
  hourOf,
  LUA_COUNT_DAY,
  textOfFigures,
  usageDayKey,
  usageHourKey,
} from '../usage/usage-days.ts';
import { LUA_REFUND_MONTH, monthCounterKey } from './admit.ts';
import { checkLogKey, LUA_LOG_CHECK } from './check-log.ts';

/** The gateway reads larger results itself: Redis buffers every message that a subscriber has not
 * read yet. */
const RESULT_BYTES_MAX = 16_384;
const SEPARATOR = ' ';

/** The channel on which a gateway process is notified of the results that it waits for. */
export const replyChannelOf = (processId: string): string => `results:${processId}`;

/** Notifies a channel that a result is stored, with the result if it is small, so that the gateway
 * need not read it. */
const LUA_NOTIFY = `
local function notify(channel, requestId, resultJson)
  redis.call('PUBLISH', ofSystem(channel), #resultJson <= ${RESULT_BYTES_MAX} and requestId .. '${SEPARATOR}' .. resultJson or requestId)
end
`;

/** A parsed notice: the id of a stored result, and the result if the notice has it. */
type ResultNotice = { readonly requestId: string; readonly resultJson?: string };

/**
 * Parses a message of a reply channel.
 *
 * @example
 * parseNotice('id {"status":"completed"}'); // { requestId: 'id', resultJson: '{"status":"completed"}' }
 */
export function parseNotice(message: string): ResultNotice {
  const at = message.indexOf(SEPARATOR);
  if (at < 0) return { requestId: message };
  return { requestId: message.slice(0, at), resultJson: message.slice(at + 1) };
}

/** The stored result of a check, or the body of another webhook. */
export const resultKey = (requestId: string): string => `result:${requestId}`;

/** The reply channels of the gateways that wait for a result or a batch. */
export const wantedKey = (requestId: string): string => `wanted:${requestId}`;

/** A result whose retention ends this soon after it is saved may have ended when its record is
 * processed again. */
const ENDS_SOON_MS = 600_000;
/** So long is it remembered then that the result was saved: as long as a record may be retried. */
const SAVED_KEPT_MS = DAY_MS;

/**
 * The first stored result wins, byte for byte: returns it if it differs from the new one, else
 * false. The month's counter is '' unless the check is refunded; `figures` are names and values to
 * add to the day; `logLine` is added to the client app's log unless it is ''; where it ends in a
 * question mark, the time from the acceptance until now stands instead. All of this happens once,
 * also for a result that is saved after its end and leaves no key.
 */
export const LUA_SAVE_IF_ABSENT = `${LUA_LOG_CHECK}${LUA_COUNT_DAY}${LUA_NOTIFY}${LUA_REFUND_MONTH}
local function saveIfAbsent(requestId, resultKey, wantedKey, dayKey, monthKey, logKey, hourKey,
  resultJson, retainUntil, figures, logLine, acceptedAtMs)
  local stored = redis.call('GET', resultKey)
  if stored then return stored ~= resultJson and stored end
  redis.call('SET', resultKey, resultJson, 'PXAT', retainUntil)
  local time = redis.call('TIME')
  if tonumber(retainUntil) - time[1] * 1000 < ${ENDS_SOON_MS}
    and not redis.call('SET', ofSystem('saved:' .. requestId), '1', 'NX', 'PX', ${SAVED_KEPT_MS}) then return false end
  refundMonth(monthKey, 1)
  countDay(dayKey, hourKey, figures)
  if logLine ~= '' then
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local storedMs = string.format('%d', math.max(0, now - tonumber(acceptedAtMs)))
    logCheck(logKey, (string.gsub(logLine, '%?$', storedMs)), acceptedAtMs)
  end
  for _, channel in ipairs(redis.call('SMEMBERS', wantedKey)) do notify(channel, requestId, resultJson) end
  return false
end
`;

/**
 * KEYS: marker, result, the reply channels that wait for it, the figures of the day, the month's
 * counter, the app's log, the figures of the hour.
 */
const SAVE_IF_ABSENT = `${REQUIRE_VIEW}${LUA_SAVE_IF_ABSENT}
local stored = saveIfAbsent(ARGV[2], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7],
  ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7])
if ARGV[8] ~= '' then notify(ARGV[8], ARGV[2], stored or ARGV[3]) end
return stored
`;

/** The keys of a saving, in the order of `LUA_SAVE_IF_ABSENT`. */
export const savingKeysOf = ({
  requestId,
  refund,
  counted,
}: SaveResult): [string, string, string, string, string, string] => [
  resultKey(requestId),
  wantedKey(requestId),
  counted ? usageDayKey(counted.clientId, dayOfDate(counted.date)) : '',
  refund ? monthCounterKey(refund.clientId, refund.month) : '',
  counted ? checkLogKey(counted.clientId) : '',
  counted ? usageHourKey(counted.clientId, hourOf(counted.logged.acceptedAtMs)) : '',
];

/** The arguments of a saving after its id, in the order of `LUA_SAVE_IF_ABSENT`. */
export const savingArgumentsOf = ({
  resultJson,
  retainUntil,
  counted,
  access = ORDINARY_ACCESS,
}: SaveResult): [string, number, string, string, number] => [
  resultJson,
  retainUntil,
  textOfFigures(counted?.figures ?? {}),
  // A rebuild does not know when the result was stored.
  counted ? lineOfCheck(counted.logged) + (access === ORDINARY_ACCESS ? '?' : '') : '',
  counted?.logged.acceptedAtMs ?? 0,
];

const READ = `${REQUIRE_VIEW}
return redis.call('MGET', unpack(KEYS, 2))
`;

/** Most ids read at once: Lua's `unpack` fails near 8 000 values. */
const READ_MANY_MAX = 1_000;

export type SaveResult = {
  readonly requestId: string;
  readonly resultJson: string;
  /** Epoch ms. */
  readonly retainUntil: number;
  /** The month's counter to refund the check to, on the first save only: nothing was decided. */
  readonly refund?: { readonly clientId: string; readonly month: string };
  /** The counts that it adds to its client app's day, on the first save only. */
  readonly counted?: CountedCheck & { readonly clientId: string };
  /** The channel of the waiting gateway: every save notifies it, the first and a copy, but a
   * rebuild does not. */
  readonly replyChannel?: string;
  readonly access?: ViewAccess;
};

/**
 * @example
 * const results = makeResults(redis);
 * const stored = await results.saveIfAbsent({ requestId, resultJson, retainUntil: clock.now() + 3_600_000 });
 */
export function makeResults(redis: Redis) {
  const save = makeBatchedScript<string | null>(redis, SAVE_IF_ABSENT);
  const readKeys = makeScript<(string | null)[]>(redis, READ);
  const readMany = async (requestIds: readonly string[]): Promise<(string | undefined)[]> => {
    const found: (string | undefined)[] = [];
    for (let i = 0; i < requestIds.length; i += READ_MANY_MAX) {
      const keys = requestIds.slice(i, i + READ_MANY_MAX).map(resultKey);
      const values = await readKeys([GENERATION_KEY, ...keys], [ORDINARY_ACCESS]);
      found.push(...values.map((value) => value ?? undefined));
    }
    return found;
  };
  return {
    /** Saves a result unless there is one, and notifies the gateway that waits for it; returns the
     * bytes that are stored. */
    async saveIfAbsent(saving: SaveResult): Promise<string> {
      const { requestId, resultJson, access = ORDINARY_ACCESS, replyChannel = '' } = saving;
      const keys = [GENERATION_KEY, ...savingKeysOf(saving)];
      const notifiedChannel = access === ORDINARY_ACCESS ? replyChannel : '';
      return (
        (await save(keys, [access, requestId, ...savingArgumentsOf(saving), notifiedChannel])) ?? resultJson
      );
    },
    async read(requestId: string): Promise<string | undefined> {
      const [found] = await readMany([requestId]);
      return found;
    },
    /** In the order of the ids. */
    readMany,
    /**
     * Asks for a notice on the channel at the first save within `forMs`. A lost notice costs the
     * waiter a second, never the answer.
     */
    requestNotice: (replyChannel: string, requestId: string, forMs: number): Promise<void> =>
      inStore(async () => {
        const key = wantedKey(requestId);
        await Promise.all([redis.sadd(key, replyChannel), redis.pexpire(key, Math.ceil(forMs))]);
      }),
  };
}

/** Stored results: result-store writes, gateway and dispatcher read. Key, bytes and time to live
 * are decided here. */
export type Results = ReturnType<typeof makeResults>;

/** The record to save for a completed check. */
export function savingOf(message: CheckCompleted): SaveResult {
  const { requestId, resultJson, retainUntil, decided, clientId, chargedMonth, delivery } = message;
  const counted = countCheck(message);
  return {
    requestId,
    resultJson,
    retainUntil: Date.parse(retainUntil),
    ...(decided || chargedMonth === undefined ? {} : { refund: { clientId, month: chargedMonth } }),
    ...(counted && { counted: { ...counted, clientId } }),
    ...(delivery.mode === 'sync' && { replyChannel: delivery.replyChannel }),
  };
}
