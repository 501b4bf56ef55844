import type { BatchPartCompleted, RoleCounts } from '#shared/contracts/batch.ts';
import type { BatchStatus } from '#shared/contracts/batch-status.ts';
import { RuleSetReference } from '#shared/contracts/rule.ts';
import { DAY_MS } from '../contracts/durations.ts';
import { monthCounterKey } from './admit.ts';
import { inStore, type Redis } from './connect.ts';
import { wantedKey } from './results.ts';
import { makeBinaryScript, makeScript } from './script.ts';
import { EVERYDAY, GENERATION_KEY, REQUIRE_VIEW, type ViewAccess } from './view.ts';

/** The batch as a whole: what was accepted, and the counts of its stored parts. */
export const batchKey = (requestId: string): string => `batch:${requestId}`;
/** The compressed lines of each stored part, by the part's number. */
const linesKey = (requestId: string): string => `batch:${requestId}:lines`;
/** The stored parts in the order of their entries: `<part>:<line count>`, scored by the place of the first entry. */
const indexKey = (requestId: string): string => `batch:${requestId}:index`;
/** A client app's unfinished batches, each scored by when it no longer counts (epoch ms). */
export const unfinishedBatchesKey = (clientId: string): string => `places:batches:{${clientId}}`;
/** All unfinished batches, scored by their acceptance (epoch ms). */
export const UNFINISHED_BATCHES_KEY = 'batches:unfinished';
/** An unfinished batch whose results are no longer kept is none. */
const UNFINISHED_MS_MAX = 8 * DAY_MS;

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
const REGISTER = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
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
const SAVE_PART = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
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
const READ_STATUS = `${REQUIRE_VIEW}
return redis.call('HGETALL', KEYS[2])
`;

/** KEYS: marker, index, lines. ARGV: access, the place of an entry. */
const READ_PART = `${REQUIRE_VIEW}
local found = redis.call('ZREVRANGEBYSCORE', KEYS[2], ARGV[2], '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
if not found[1] then return false end
local part, lineCount = string.match(found[1], '^(%d+):(%d+)$')
if tonumber(ARGV[2]) >= tonumber(found[2]) + tonumber(lineCount) then return false end
return { found[2], lineCount, redis.call('HGET', KEYS[3], part) }
`;

/** KEYS: marker, index. ARGV: access, the place of an entry, most entries that matter. */
const COUNT_FINISHED = `${REQUIRE_VIEW}
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

/** A batch as it was accepted. */
export type AcceptedBatch = Pick<
  BatchPartCompleted,
  'requestId' | 'clientId' | 'entryCount' | 'partCount' | 'acceptedAt' | 'retainUntil' | 'ruleSet'
> & {
  /** In the order in which the rules name the roles first. */
  readonly roleIds: readonly string[];
};

export type SavedPart = {
  /** False for a copy: the part was stored before. */
  readonly isFirst: boolean;
  /** Whether all parts of the batch are stored. */
  readonly isComplete: boolean;
};

/** The results of consecutive entries, as they are stored. */
export type StoredLines = {
  /** Place in the batch of the first line. */
  readonly firstIndex: number;
  readonly lineCount: number;
  /** One line of JSON per entry, compressed by gzip. */
  readonly gzip: Buffer;
};

/** Stored batches: what result-store writes and the gateway reads. Keys, counts and time to live are decided here. */
export type Batches = {
  /** Registers an accepted batch, unless it is registered. */
  readonly register: (batch: AcceptedBatch, access?: ViewAccess) => Promise<void>;
  /**
   * Stores a part unless it is stored, and counts it. The first save also gives its `refundCount` back to the month,
   * unless `isRefunded` is false; the last part ends the batch: it frees the app's slot and wakes who waits for it.
   */
  readonly savePart: (
    part: BatchPartCompleted,
    options?: { readonly access?: ViewAccess; readonly isRefunded?: boolean },
  ) => Promise<SavedPart>;
  /** Nothing where the batch was never registered, or is no longer kept. */
  readonly readStatus: (requestId: string) => Promise<BatchStatus | undefined>;
  /** The stored part that holds the entry at this place; nothing while it is not finished. */
  readonly readPart: (requestId: string, index: number) => Promise<StoredLines | undefined>;
  /** How many entries from this place on are finished without a gap, up to `countMax`. */
  readonly countFinished: (requestId: string, index: number, countMax: number) => Promise<number>;
  /** How many batches are unfinished, over all client apps. */
  readonly countUnfinished: (nowMs: number) => Promise<number>;
};

/**
 * @example
 * const batches = makeBatches(redis);
 * const { isComplete } = await batches.savePart(part);
 * const lines = await batches.readPart(requestId, 500); // the part of entry 500
 */
export function makeBatches(redis: Redis): Batches {
  const register = makeScript<number>(redis, 'registerBatch', REGISTER);
  const save = makeScript<[number, number]>(redis, 'saveBatchPart', SAVE_PART);
  const countFinished = makeScript<number>(redis, 'countFinishedEntries', COUNT_FINISHED);
  const readStatus = makeScript<string[]>(redis, 'readBatchStatus', READ_STATUS);
  const readPart = makeBinaryScript<[Buffer, Buffer, Buffer] | null>(redis, 'readBatchPart', READ_PART);
  return {
    async register(batch, access = EVERYDAY) {
      await register(registrationKeysOf(batch), registrationArgumentsOf(batch, access));
    },
    async savePart(part, { access = EVERYDAY, isRefunded = true } = {}) {
      const { requestId, clientId, chargedMonth, roles } = part;
      const refundCount = isRefunded && chargedMonth !== undefined ? part.refundCount : 0;
      const monthKey = monthCounterKey(clientId, chargedMonth ?? 'none');
      const [isFirst, isComplete] = await save(
        [
          ...registrationKeysOf(part),
          linesKey(requestId),
          indexKey(requestId),
          wantedKey(requestId),
          monthKey,
        ],
        [
          ...registrationArgumentsOf({ ...part, roleIds: roles.map(({ id }) => id) }, access),
          part.part,
          part.firstIndex,
          part.lineCount,
          part.evaluatedAt,
          Buffer.from(part.linesGzip, 'base64'),
          refundCount,
          ...roles.flatMap(({ id, granted, denied, undetermined }) => [id, granted, denied, undetermined]),
        ],
      );
      return { isFirst: isFirst === 1, isComplete: isComplete === 1 };
    },
    async readStatus(requestId) {
      return parseStatus(requestId, await readStatus([GENERATION_KEY, batchKey(requestId)], [EVERYDAY]));
    },
    async readPart(requestId, index) {
      const keys = [GENERATION_KEY, indexKey(requestId), linesKey(requestId)];
      const found = await readPart(keys, [EVERYDAY, index]);
      if (found === null) return undefined;
      const [firstIndex, lineCount, gzip] = found;
      return { firstIndex: Number(firstIndex), lineCount: Number(lineCount), gzip };
    },
    countFinished: (requestId, index, countMax) =>
      countFinished([GENERATION_KEY, indexKey(requestId)], [EVERYDAY, index, countMax]),
    countUnfinished: (nowMs) =>
      inStore(async () => {
        await redis.zremrangebyscore(UNFINISHED_BATCHES_KEY, '-inf', nowMs - UNFINISHED_MS_MAX);
        return redis.zcard(UNFINISHED_BATCHES_KEY);
      }),
  };
}

/** As `LUA_REGISTER_BATCH` expects them, behind the marker. */
export const registrationKeysOf = ({
  requestId,
  clientId,
}: Pick<AcceptedBatch, 'requestId' | 'clientId'>): string[] => [
  GENERATION_KEY,
  batchKey(requestId),
  unfinishedBatchesKey(clientId),
  UNFINISHED_BATCHES_KEY,
];

export const registrationArgumentsOf = (batch: AcceptedBatch, access: ViewAccess): (string | number)[] => [
  access,
  batch.requestId,
  batch.clientId,
  batch.entryCount,
  batch.partCount,
  batch.acceptedAt,
  Date.parse(batch.acceptedAt),
  Date.parse(batch.retainUntil),
  batch.ruleSet === undefined ? '' : JSON.stringify(batch.ruleSet),
  JSON.stringify(batch.roleIds),
];

function parseStatus(requestId: string, flat: readonly string[]): BatchStatus | undefined {
  const fields = new Map<string, string>();
  for (let i = 0; i < flat.length; i += 2) fields.set(flat[i] ?? '', flat[i + 1] ?? '');
  const [acceptedAt, ruleSet, evaluatedAt] = ['acceptedAt', 'ruleSet', 'evaluatedAt'].map((name) =>
    fields.get(name),
  );
  if (acceptedAt === undefined) return undefined;
  const countOf = (name: string) => Number(fields.get(name) ?? 0);
  const isComplete = countOf('partsDone') >= countOf('parts');
  const roleIds = JSON.parse(fields.get('roleIds') ?? '[]') as string[];
  const roles = roleIds.map(
    (id): RoleCounts => ({
      id,
      granted: countOf(`granted:${id}`),
      denied: countOf(`denied:${id}`),
      undetermined: countOf(`undetermined:${id}`),
    }),
  );
  return {
    requestId,
    status: isComplete ? 'completed' : 'pending',
    entries: countOf('entries'),
    done: countOf('done'),
    roles,
    acceptedAt,
    ...(isComplete && evaluatedAt !== undefined && { completedAt: evaluatedAt }),
    ...(ruleSet && { ruleSet: RuleSetReference.parse(JSON.parse(ruleSet)) }),
  };
}
