import type { CheckCompleted, EvaluatedCheck } from '#shared/contracts/checks/check-completed.ts';
import { type LoggedCheck, lineOfCheck } from '#shared/contracts/checks/check-log.ts';
import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import { type CountedCheck, countCheck } from '#shared/contracts/usage/day-figures.ts';
import { checkOf, DELIVERY_MS_MAX, type NewWebhook } from '#shared/contracts/webhooks/webhook.ts';
import { LUA_REFUND } from '#shared/fairness/throttle.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { isReplay, makeScript, REQUIRE_RESULTS, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';
import {
  dayOfDate,
  hourOf,
  LUA_COUNT_DAY,
  textOfFigures,
  usageDayKey,
  usageHourKey,
} from '../usage/usage-days.ts';
import { monthCounterKey } from './admit.ts';
import { checkLogKey, LUA_LOG_CHECK } from './check-log.ts';

/** Larger results are read alone, and not together with others: Redis buffers every message that a
 * subscriber has not read yet, and a whole answer before it sends it. */
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

/** From its first save and from each claim, deferral and failed attempt on, the body of a webhook is
 * kept that long: its delivery has ended by then. */
export const BODY_KEPT_MS = DELIVERY_MS_MAX + HOUR_MS;

/** What is kept no longer than this after its save may have ended when its record is processed again. */
const ENDS_SOON_MS = 600_000;
/** So long is it remembered then that it was saved: as long as a record may be retried. */
const SAVED_KEPT_MS = DAY_MS;

/** `wasSaved(id, retainUntil, now)`: whether what ends so soon was saved before; the first call notes
 * that it is saved. */
export const LUA_WAS_SAVED = `
local function wasSaved(id, retainUntil, now)
  return retainUntil - now < ${ENDS_SOON_MS}
    and not redis.call('SET', ofSystem('saved:' .. id), '1', 'NX', 'PX', ${SAVED_KEPT_MS})
end
`;

/**
 * KEYS: result, the reply channels that wait for it, the figures of the day, the month's counter, the
 * app's log, the figures of the hour. ARGV: id, result, when its retention ends, how long it is kept
 * at least, figures, log line, accepted at, channel to notify.
 *
 * The first stored result wins, byte for byte. Answers false for the first save, '' for a copy, the
 * stored bytes where they differ. The month's counter is '' unless the check is refunded; the
 * figures are names and values to add to the day; the line is added to the client app's log unless
 * it is ''; where it ends in a question mark, the time from the acceptance until now stands instead.
 * All of this happens once, also for a result that is saved after its end and leaves no key. The
 * channel is notified by every save.
 */
const SAVE_IF_ABSENT = `${REQUIRE_VIEW}${LUA_LOG_CHECK}${LUA_COUNT_DAY}${LUA_NOTIFY}${LUA_REFUND}${LUA_WAS_SAVED}
local requestId, resultJson, retainUntil, acceptedAtMs = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[7]
${REQUIRE_RESULTS}local function save()
  local stored = redis.call('GET', KEYS[1])
  if stored then return stored == resultJson and '' or stored end
  ${LUA_NOW}
  local keptUntil = ARGV[4] == '0' and retainUntil or math.max(retainUntil, now + ARGV[4])
  redis.call('SET', KEYS[1], resultJson, 'PXAT', string.format('%.0f', keptUntil))
  if wasSaved(requestId, retainUntil, now) then return '' end
  refundTo(KEYS[4], 1)
  countDay(KEYS[3], KEYS[6], ARGV[5])
  if ARGV[6] ~= '' then
    local storedMs = string.format('%d', math.max(0, now - tonumber(acceptedAtMs)))
    logCheck(KEYS[5], (string.gsub(ARGV[6], '%?$', storedMs)), acceptedAtMs)
  end
  for _, channel in ipairs(redis.call('SMEMBERS', KEYS[2])) do notify(channel, requestId, resultJson) end
  return false
end
local stored = save()
if ARGV[8] ~= '' then notify(ARGV[8], requestId, stored and stored ~= '' and stored or resultJson) end
return stored
`;

const READ = `${REQUIRE_VIEW}
local stored = redis.call('GET', KEYS[1])
if stored then return stored end
local acceptedAtMs = 0
${REQUIRE_RESULTS}return false
`;

/** The result, or the number of its bytes if it is large. */
const FIND = `${REQUIRE_VIEW}
local bytes = redis.call('STRLEN', KEYS[1])
return bytes > ${RESULT_BYTES_MAX} and bytes or redis.call('GET', KEYS[1])
`;

/** KEYS: result, the reply channels that wait for it. ARGV: channel, for how long. */
const REQUEST_NOTICE = `${REQUIRE_VIEW}
local stored = redis.call('GET', KEYS[1])
if stored then return stored end
redis.call('SADD', KEYS[2], ARGV[1])
-- A later poll with a shorter wait must not end an earlier one's.
redis.call('PEXPIRE', KEYS[2], ARGV[2], 'NX')
redis.call('PEXPIRE', KEYS[2], ARGV[2], 'GT')
return false
`;

/** Most ids read at once: they are answered within the time of a command. */
const READ_MANY_MAX = 1_000;

export type SaveResult = {
  readonly requestId: string;
  readonly resultJson: string;
  /** Epoch ms, Redis's clock. */
  readonly acceptedAtMs: number;
  readonly retainUntil: number;
  /** Kept at least so long from the first save on, because its delivery may be open. Default 0. */
  readonly keepMs?: number;
  /** The month's counter to refund the check to, on the first save only: nothing was decided. */
  readonly refund?: { readonly clientId: string; readonly month: string };
  /** The counts that it adds to its client app's day, on the first save only. */
  readonly counted?: CountedCheck & { readonly clientId: string };
  /** The channel of the waiting gateway: every save notifies it, the first and a copy. */
  readonly replyChannel?: string;
};

export type ObserveSaved = (check: LoggedCheck, isFirst: boolean) => void;

export function makeResults(redis: Redis, observe: ObserveSaved = () => undefined) {
  const save = makeBatchedScript<string | null>(redis, SAVE_IF_ABSENT);
  const requestNotice = makeBatchedScript<string | null>(redis, REQUEST_NOTICE);
  const has = makeBatchedScript<number>(redis, viewCommand('EXISTS'));
  const find = makeBatchedScript<string | number | null>(redis, FIND);
  const get = makeScript<string | null>(redis, viewCommand('GET'));
  const read = makeScript<string | null>(redis, READ);
  const findOne = async (requestId: string): Promise<string | number | undefined> =>
    (await find([resultKey(requestId)], [])) ?? undefined;
  const readMany = async (requestIds: readonly string[]): Promise<(string | undefined)[]> => {
    const results: (string | undefined)[] = [];
    for (let i = 0; i < requestIds.length; i += READ_MANY_MAX) {
      const ids = requestIds.slice(i, i + READ_MANY_MAX);
      const found = await Promise.all(ids.map(findOne));
      for (const [index, id] of ids.entries()) {
        const one = found[index];
        results.push(typeof one === 'number' ? ((await get([resultKey(id)], [])) ?? undefined) : one);
      }
    }
    return results;
  };
  return {
    /**
     * Saves a body unless there is one, and notifies the gateways that wait for it; returns the
     * bytes that are stored. Evaluator, dispatcher, result-store and replay save by this.
     *
     * @throws ServiceError `view-rebuilding` while a replay brings back results that may have this id
     */
    async saveIfAbsent(saving: SaveResult): Promise<string> {
      const { requestId, resultJson, acceptedAtMs, retainUntil, keepMs = 0 } = saving;
      const { refund, counted, replyChannel = '' } = saving;
      const keys = [
        resultKey(requestId),
        wantedKey(requestId),
        counted ? usageDayKey(counted.clientId, dayOfDate(counted.date)) : '',
        refund ? monthCounterKey(refund.clientId, refund.month) : '',
        counted ? checkLogKey(counted.clientId) : '',
        counted ? usageHourKey(counted.clientId, hourOf(counted.logged.acceptedAtMs)) : '',
      ];
      const stored = await save(keys, [
        requestId,
        resultJson,
        retainUntil,
        keepMs,
        textOfFigures(counted?.figures ?? {}),
        // A replay does not know when the result was stored.
        counted ? lineOfCheck(counted.logged) + (isReplay(redis) ? '' : '?') : '',
        acceptedAtMs,
        replyChannel,
      ]);
      if (counted) observe(counted.logged, stored === null);
      return stored || resultJson;
    },
    /**
     * The stored bytes; undefined if there are none.
     *
     * @throws ServiceError `view-rebuilding` if a replay may still bring them back
     */
    read: async (requestId: string): Promise<string | undefined> =>
      (await read([resultKey(requestId)], [])) ?? undefined,
    /** The same for a poll: a result that a replay has not brought back is one to come. Polls that come
     * together share one command; of a large result it tells the bytes alone, and `read` has it. */
    find: findOne,
    /** Whether a body is stored, without its bytes: many such questions share one command. */
    has: async (requestId: string): Promise<boolean> => (await has([resultKey(requestId)], [])) === 1,
    /** In the order of the ids. Those that a replay has not brought back are undefined too: as
     * results to come. */
    readMany,
    /** Removes results of an app that is gone; at most 1 000. */
    forget: (requestIds: readonly string[]): Promise<void> =>
      inStore(async () => {
        if (requestIds.length > 0) await redis.unlink(...requestIds.map(resultKey));
      }),
    /**
     * Returns the stored bytes, or asks for a notice on the channel at the first save within `forMs`,
     * or within the longer time of an earlier request. A lost notice costs the waiter a second, never
     * the answer.
     */
    async requestNotice(replyChannel: string, requestId: string, forMs: number): Promise<string | undefined> {
      const keys = [resultKey(requestId), wantedKey(requestId)];
      return (await requestNotice(keys, [replyChannel, Math.ceil(forMs)])) ?? undefined;
    },
  };
}

/** Stored results and bodies of webhooks. Key, bytes and time to live are decided here. */
export type Results = ReturnType<typeof makeResults>;

/** A record that brings a body: in `check.completed.v1` and, unless it is a resend, in
 * `webhook.requested.v1`. */
export type BodyRecord = CheckCompleted | NewWebhook;

export const evaluatedOf = (body: BodyRecord): EvaluatedCheck | undefined =>
  'mode' in body ? body : checkOf(body);

export function savingOf(body: BodyRecord): SaveResult {
  const { requestId, clientId, resultJson, retainUntil } = body;
  const check = evaluatedOf(body);
  const counted = check && countCheck(check);
  const refundedMonth = check?.decided ? undefined : check?.chargedMonth;
  return {
    requestId,
    resultJson,
    acceptedAtMs: Date.parse(body.acceptedAt),
    retainUntil: Date.parse(retainUntil),
    ...('mode' in body ? {} : { keepMs: BODY_KEPT_MS }),
    ...(refundedMonth !== undefined && { refund: { clientId, month: refundedMonth } }),
    ...(counted && { counted: { ...counted, clientId } }),
  };
}
