import { type BatchPartCompleted, isLastPart, type RoleCounts } from '#shared/contracts/batches/batch.ts';
import { StoredBatchStatus } from '#shared/contracts/batches/batch-status.ts';
import { DAY_MS } from '#shared/contracts/durations.ts';
import { RuleSetReference } from '#shared/contracts/rules/rule.ts';
import { countPart } from '#shared/contracts/usage/day-figures.ts';
import { BATCHES_HELD_UNTIL, LUA_HELD_ENTRIES } from '#shared/fairness/held-places.ts';
import { LUA_REFUND } from '#shared/fairness/throttle.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW } from '#shared/redis/fence.ts';
import { makeScript, pairsOf, REQUIRE_RESULTS, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';
import { monthCounterKey } from '../checks/admit.ts';
import { LUA_WAS_SAVED, wantedKey } from '../checks/results.ts';
import {
  dayOfDate,
  hourOf,
  LUA_COUNT_DAY,
  textOfFigures,
  usageDayKey,
  usageHourKey,
} from '../usage/usage-days.ts';

/** The compressed lines of each stored part, by the part's number. */
const linesKey = (requestId: string): string => `batch:${requestId}:lines`;
/** The stored parts in the order of their entries: `<part>:<line count>`, scored by the index of
 * the first entry. */
const indexKey = (requestId: string): string => `batch:${requestId}:index`;
/** A client app's unfinished batches, each scored by when it no longer counts (epoch ms). */
export const unfinishedBatchesKey = (clientId: string): string => `places:batches:{${clientId}}`;
/** Batches that were begun and are not accepted yet, scored by the last attempt (epoch ms). */
const PUBLISHING_KEY = 'batches:publishing';

export type AcceptedBatch = Pick<
  BatchPartCompleted,
  | 'requestId'
  | 'clientId'
  | 'accountId'
  | 'entryCount'
  | 'partCount'
  | 'acceptedAt'
  | 'retainUntil'
  | 'ruleSet'
  | 'previewDigest'
> & {
  /** In the order in which the rules name the roles first. */
  readonly roleIds: readonly string[];
};

type BatchCharge = { readonly month: string; readonly checksMax: number };

/** The results of consecutive entries, as they are stored. */
export type StoredLines = {
  /** Place in the batch of the first line. */
  readonly firstIndex: number;
  readonly lineCount: number;
  /** One line of JSON per entry, compressed by gzip. */
  readonly gzip: Buffer;
};

/**
 * @example
 * const batches = makeBatches(redis);
 * const { isComplete } = await batches.savePart(part);
 * const lines = await batches.readPart(requestId, 500); // the part of entry 500
 */
export function makeBatches(redis: Redis) {
  const begin = makeScript<number>(redis, BEGIN);
  const withdraw = makeScript<number>(redis, WITHDRAW);
  const register = makeScript<number>(redis, REGISTER);
  const abandon = makeScript<number>(redis, ABANDON);
  const save = makeScript<[number, number]>(redis, SAVE_PART);
  const countFinished = makeScript<number>(redis, COUNT_FINISHED);
  const readHash = makeScript<string[]>(redis, viewCommand('HGETALL'));
  const readFields = async (requestId: string): Promise<Fields> =>
    Object.fromEntries(pairsOf(await readHash([batchKey(requestId)], [])));
  const findPart = makeScript<string[]>(redis, viewCommand('ZRANGE'));
  return {
    /**
     * Records that a batch is being published, so that it is abandoned unless it is accepted in
     * time.
     *
     * @param charge the counter that its entries were charged to; undefined if nothing was charged
     * @param seed of its admission, which holds its entries until now
     * @returns false if it was abandoned meanwhile, and the rest of the monthly quota is too small
     *   to charge it again
     */
    async begin(batch: AcceptedBatch, charge: BatchCharge | undefined, seed: string): Promise<boolean> {
      const counter = charge ? monthCounterKey(batch.clientId, charge.month) : '';
      const isBegun = await begin(
        [...registrationKeysOf(batch), counter],
        [registrationOf(batch, false), charge?.month ?? '', charge?.checksMax ?? 0, seed],
      );
      return isBegun === 1;
    },
    /** Undoes `begin` for a batch if surely none of its parts was published, and frees its slot. */
    async withdraw(
      batch: Pick<AcceptedBatch, 'requestId' | 'clientId'> & { readonly seed: string },
    ): Promise<void> {
      await withdraw(registrationKeysOf(batch), [batch.requestId, batch.seed]);
    },
    /**
     * Registers a batch, unless it is registered.
     *
     * @param isAccepted whether all of its parts are published
     */
    async register(batch: AcceptedBatch, isAccepted: boolean): Promise<void> {
      await register(registrationKeysOf(batch), [registrationOf(batch, isAccepted)]);
    },
    /**
     * Abandons batches that were not accepted within this time: refunds their entries without
     * results, and says so in the status. Parts that come later are stored and charged all the
     * same, and a retry publishes the batch again. Returns how many, at most `countMax`.
     */
    abandon: (countMax: number, idleMs: number = ABANDONED_AFTER_MS): Promise<number> =>
      abandon([PUBLISHING_KEY], [idleMs, countMax]),
    /**
     * Stores a part unless it is stored, and counts it. The first save also refunds its
     * `refundCount` to the month and adds to the figures of the day, unless `isTallied` is false;
     * the last part ends the batch: it frees the app's slot and notifies the waiting gateways.
     * Returns whether it is the first, not a copy, and whether all parts of the batch are stored.
     */
    async savePart(
      part: BatchPartCompleted,
      { isTallied = true }: { readonly isTallied?: boolean } = {},
    ): Promise<{ isFirst: boolean; isComplete: boolean }> {
      const { requestId, clientId, chargedMonth, roles } = part;
      const refundCount = isTallied && chargedMonth !== undefined ? part.refundCount : 0;
      const { date, figures } = countPart(part);
      const monthKey = monthCounterKey(clientId, chargedMonth ?? 'none');
      const [isFirst, isComplete] = await save(
        [
          ...registrationKeysOf(part),
          linesKey(requestId),
          indexKey(requestId),
          wantedKey(requestId),
          monthKey,
          usageDayKey(clientId, dayOfDate(date)),
          usageHourKey(clientId, hourOf(Date.parse(part.acceptedAt))),
        ],
        [
          registrationOf({ ...part, roleIds: roles.map(({ id }) => id) }, isLastPart(part)),
          part.part,
          part.firstIndex,
          part.lineCount,
          part.evaluatedAt,
          Buffer.from(part.linesGzip, 'base64'),
          refundCount,
          isTallied ? textOfFigures(figures) : '',
          JSON.stringify(roles),
        ],
      );
      return { isFirst: isFirst === 1, isComplete: isComplete === 1 };
    },
    /** Nothing where the batch was never registered, or is no longer kept. */
    async readStatus(requestId: string): Promise<StoredBatchStatus | undefined> {
      return parseStatus(requestId, await readFields(requestId));
    },
    /** Whose batch it is, and how many of its parts are stored; nothing as for `readStatus`. */
    async readProgress(
      requestId: string,
    ): Promise<
      | (Pick<AcceptedBatch, 'clientId' | 'previewDigest' | 'partCount'> & { storedPartCount: number })
      | undefined
    > {
      const { clientId, preview, parts, partsDone } = await readFields(requestId);
      if (clientId === undefined) return undefined;
      const [partCount, storedPartCount] = [Number(parts ?? 0), Number(partsDone ?? 0)];
      return { clientId, previewDigest: preview, partCount, storedPartCount };
    },
    /** The stored part that holds the entry at this index; nothing while it is not finished. */
    async readPart(requestId: string, index: number): Promise<StoredLines | undefined> {
      const before = [index, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES'];
      const [stored = '', first = NaN] = await findPart([indexKey(requestId)], before);
      const [part = '', lines] = stored.split(':');
      const [firstIndex, lineCount] = [Number(first), Number(lines)];
      if (!(index < firstIndex + lineCount)) return undefined;
      const gzip = await inStore(() => redis.hgetBuffer(linesKey(requestId), part));
      return gzip === null ? undefined : { firstIndex, lineCount, gzip };
    },
    /** How many entries from this index on are finished without a gap, up to `countMax`. */
    countFinished: (requestId: string, index: number, countMax: number): Promise<number> =>
      countFinished([indexKey(requestId)], [index, countMax]),
    /** How many slots an app's unfinished batches hold. */
    countUnfinishedOf: (clientId: string, nowMs: number): Promise<number> =>
      inStore(() => redis.zcount(unfinishedBatchesKey(clientId), `(${nowMs}`, '+inf')),
    countUnfinished: (nowMs: number): Promise<number> =>
      inStore(() => redis.zcount(BATCHES_HELD_UNTIL, `(${nowMs}`, '+inf')),
  };
}

/** Stored batches: result-store writes, the gateway reads. Keys, counts and time to live are
 * decided here. */
export type Batches = ReturnType<typeof makeBatches>;

const registrationKeysOf = ({
  requestId,
  clientId,
}: Pick<AcceptedBatch, 'requestId' | 'clientId'>): string[] => [
  batchKey(requestId),
  unfinishedBatchesKey(clientId),
  PUBLISHING_KEY,
  batchListKey(clientId),
];

function registrationOf(batch: AcceptedBatch, isAccepted: boolean): string {
  const { requestId, clientId, accountId, entryCount, partCount, acceptedAt, previewDigest } = batch;
  return JSON.stringify({
    ...{ requestId, clientId, accountId, entryCount, partCount, acceptedAt, previewDigest, isAccepted },
    acceptedAtMs: Date.parse(acceptedAt),
    retainUntilMs: Date.parse(batch.retainUntil),
    ruleSet: batch.ruleSet === undefined ? '' : JSON.stringify(batch.ruleSet),
    roleIds: JSON.stringify(batch.roleIds),
  });
}

type Fields = Readonly<Record<string, string | undefined>>;

function parseStatus(requestId: string, fields: Fields): StoredBatchStatus | undefined {
  const summary = parseSummary(requestId, fields);
  if (!summary) return undefined;
  const countOf = (name: string) => Number(fields[name] ?? 0);
  const roleIds = JSON.parse(fields['roleIds'] ?? '[]') as string[];
  const isPreview = fields['preview'] !== undefined;
  const roles = roleIds.map(
    (id): RoleCounts => ({
      id,
      granted: countOf(`granted:${id}`),
      denied: countOf(`denied:${id}`),
      undetermined: countOf(`undetermined:${id}`),
      ...(isPreview ? { gained: countOf(`gained:${id}`), lost: countOf(`lost:${id}`) } : {}),
    }),
  );
  // In the order of the schema: the webhook's body shows it.
  return StoredBatchStatus.parse({ ...summary, roles });
}

/** Batches of a client app that are listed, at about 140 bytes each; older ones can still be read
 * by their id. */
export const BATCH_LIST_COUNT_MAX = 200;

/** The newest batches of a client app, each scored by the end of its retention (epoch ms). */
export const batchListKey = (clientId: string): string => `batch-list:{${clientId}}`;
/** The batch as a whole: the accepted request, and the counts of its stored parts. */
const batchKey = (requestId: string): string => `batch:${requestId}`;

const FIELDS = [
  'entries',
  'done',
  'parts',
  'partsDone',
  'acceptedAt',
  'evaluatedAt',
  'ruleSet',
  'abandoned',
] as const;

export const BatchSummary = StoredBatchStatus.omit({ roles: true });
export type BatchSummary = Omit<StoredBatchStatus, 'roles'>;

export function makeBatchList(redis: Redis) {
  const readIds = makeScript<string[]>(redis, viewCommand('ZRANGE'));
  return {
    /** Newest first, from the batch behind `before` on. A `before` that is no longer listed begins
     * with the newest. */
    async list(
      clientId: string,
      { countMax, before }: { readonly countMax: number; readonly before?: string | undefined },
    ): Promise<BatchSummary[]> {
      const key = batchListKey(clientId);
      const rank = before === undefined ? null : await inStore(() => redis.zrevrank(key, before));
      const first = rank === null ? 0 : rank + 1;
      const ids = await readIds([key], [first, first + countMax - 1, 'REV']);
      const found = await inStore(() => Promise.all(ids.map((id) => redis.hmget(batchKey(id), ...FIELDS))));
      return ids.flatMap((requestId, index) => {
        const fields = FIELDS.map((name, place) => [name, found[index]?.[place] ?? undefined]);
        return parseSummary(requestId, Object.fromEntries(fields)) ?? [];
      });
    },
    /** Removes the listed batches of an app that is gone, with their results. */
    async forget(clientId: string): Promise<void> {
      const key = batchListKey(clientId);
      const ids = await inStore(() => redis.zrange(key, '0', '-1'));
      const keys = ids.flatMap((id) => [batchKey(id), linesKey(id), indexKey(id)]);
      await inStore(() => redis.unlink(key, ...keys));
    },
  };
}

/** The newest batches of each client app: a batch is added when it is begun, and leaves with its
 * results. */
export type BatchList = ReturnType<typeof makeBatchList>;

function parseSummary(requestId: string, fields: Fields): BatchSummary | undefined {
  const { acceptedAt, evaluatedAt, ruleSet, abandoned, entries, done, partsDone = 0, parts = 0 } = fields;
  if (acceptedAt === undefined) return undefined;
  const isComplete = Number(partsDone) >= Number(parts);
  return {
    requestId,
    status: isComplete ? 'completed' : abandoned !== undefined ? 'abandoned' : 'pending',
    entries: Number(entries ?? 0),
    done: Number(done ?? 0),
    acceptedAt,
    ...(isComplete && evaluatedAt !== undefined && { completedAt: evaluatedAt }),
    ...(ruleSet && { ruleSet: RuleSetReference.parse(JSON.parse(ruleSet)) }),
  };
}

const COUNTS_KEPT_MS = DAY_MS;

/** A batch whose parts are still being published, or may never be, is abandoned so long after the
 * last attempt. */
const ABANDONED_AFTER_MS = 600_000;

/**
 * Registers a batch unless it is registered. Its last part is published after all others, so a
 * batch of which the last part is known is published as a whole: it is accepted, and keeps a slot
 * of its app until all parts are stored. Until then its slot is the lease of the gateway that
 * publishes it, and it is among those that may be abandoned.
 *
 * A batch of which all parts are stored is not unfinished, however late its registration is
 * written.
 *
 * The counts of a batch that is not complete are kept a day longer than its lines: if it completes
 * late, its webhook has them.
 *
 * KEYS: batch, the app's unfinished batches, those being published, the app's list. ARGV: the
 * registration.
 */
const LUA_REGISTER_BATCH = `${LUA_NOW}${LUA_HELD_ENTRIES}
local batch = cjson.decode(ARGV[1])
local batchKey, ofAppKey, publishingKey, listKey = unpack(KEYS)
local function isComplete()
  return tonumber(redis.call('HGET', batchKey, 'partsDone') or '0') >= batch.partCount
end
local function expireCounts()
  if isComplete() and batch.retainUntilMs > now then
    redis.call('PEXPIREAT', batchKey, batch.retainUntilMs)
  else
    redis.call('PEXPIREAT', batchKey, math.max(batch.retainUntilMs, now) + ${COUNTS_KEPT_MS})
  end
end
local function registerBatch()
  if redis.call('HEXISTS', batchKey, 'parts') == 0 then
    redis.call('HSET', batchKey, 'clientId', batch.clientId, 'entries', batch.entryCount,
      'parts', batch.partCount, 'acceptedAt', batch.acceptedAt, 'ruleSet', batch.ruleSet)
    if batch.previewDigest then redis.call('HSET', batchKey, 'preview', batch.previewDigest) end
    redis.call('ZADD', listKey, batch.retainUntilMs, batch.requestId)
    redis.call('ZREMRANGEBYSCORE', listKey, '-inf', now)
    redis.call('ZREMRANGEBYRANK', listKey, 0, -${BATCH_LIST_COUNT_MAX + 1})
    redis.call('PEXPIREAT', listKey, batch.retainUntilMs, 'NX')
    redis.call('PEXPIREAT', listKey, batch.retainUntilMs, 'GT')
  end
  if batch.roleIds ~= '[]' then redis.call('HSETNX', batchKey, 'roleIds', batch.roleIds) end
  expireCounts()
  if batch.isAccepted or redis.call('HEXISTS', batchKey, 'abandoned') == 0 then
    local done = tonumber(redis.call('HGET', batchKey, 'done') or '0')
    holdPlaces(batch.requestId, batch.accountId, batch.clientId, batch.entryCount - done, batch.retainUntilMs)
  end
  if not batch.isAccepted then
    if redis.call('HEXISTS', batchKey, 'accepted') == 0 and redis.call('HEXISTS', batchKey, 'abandoned') == 0 then
      redis.call('ZADD', publishingKey, 'NX', now, batch.requestId)
    end
    return
  end
  redis.call('HSET', batchKey, 'accepted', '1')
  redis.call('HDEL', batchKey, 'abandoned')
  redis.call('ZREM', publishingKey, batch.requestId)
  if isComplete() then
    redis.call('ZREM', ofAppKey, batch.requestId)
    return
  end
  redis.call('ZADD', ofAppKey, batch.retainUntilMs, batch.requestId)
  local endsAtMs = math.max(batch.retainUntilMs, now + ${COUNTS_KEPT_MS})
  redis.call('PEXPIREAT', ofAppKey, endsAtMs, 'NX')
  redis.call('PEXPIREAT', ofAppKey, endsAtMs, 'GT')
end
`;

const REGISTER = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
registerBatch()
return 1
`;

/**
 * KEYS: those of a registration, then the month's counter ('' where nothing is charged). ARGV: the
 * registration, the month, how many checks it may be charged for, and the seed under which its
 * entries are held since its admission.
 *
 * A batch that is published again after it was abandoned is charged again for the refund: 0 if the
 * rest of the monthly quota is too small.
 */
const BEGIN = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}
local isNew = redis.call('EXISTS', batchKey) == 0
if not isNew and ARGV[2] ~= '' then
  local charged = tonumber(redis.call('HGET', batchKey, 'charged') or batch.entryCount)
  local owed = batch.entryCount - charged
  if owed > 0 then
    if tonumber(redis.call('GET', KEYS[5]) or '0') + owed > tonumber(ARGV[3]) then return 0 end
    redis.call('INCRBY', KEYS[5], owed)
    redis.call('HSET', batchKey, 'charged', batch.entryCount)
  end
end
redis.call('HDEL', batchKey, 'abandoned')
freePlaces(ARGV[4])
registerBatch()
if isNew and ARGV[2] ~= '' then redis.call('HSET', batchKey, 'charged', batch.entryCount, 'month', ARGV[2]) end
redis.call('ZADD', publishingKey, 'XX', now, batch.requestId)
return 1
`;

/** KEYS: those of a registration. ARGV: the id, its seed. Deletes all data of a batch of which no
 * part was published. */
const WITHDRAW = `${REQUIRE_VIEW}${LUA_HELD_ENTRIES}
freePlaces(ARGV[1])
freePlaces(ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('DEL', KEYS[1])
return 1
`;

/**
 * KEYS: batches being published. ARGV: ms since the last attempt, how many at most.
 *
 * The entries without results are refunded. Those that were published all the same are charged
 * again with their part.
 */
const ABANDON = `${REQUIRE_VIEW}${LUA_NOW}${LUA_HELD_ENTRIES}${LUA_REFUND}
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - tonumber(ARGV[1]), 'LIMIT', 0, ARGV[2])
for _, requestId in ipairs(due) do
  redis.call('ZREM', KEYS[1], requestId)
  freePlaces(requestId)
  local key = ofSystem('batch:' .. requestId)
  local clientId, charged, month, done = unpack(redis.call('HMGET', key, 'clientId', 'charged', 'month', 'done'))
  if clientId then
    redis.call('HSET', key, 'abandoned', '1')
    local refund = tonumber(charged or '0') - tonumber(done or '0')
    if month and refund > 0 then
      refundTo(ofSystem('quota:{' .. clientId .. '}:' .. month), refund)
      redis.call('HSET', key, 'charged', charged - refund)
    end
  end
end
return #due
`;

/**
 * KEYS: those of a registration, then lines, index, the reply channels that wait for the batch, the
 * month's counter, the figures of the day and of the hour. ARGV: the registration, part, first index,
 * line count, evaluated at, lines, refund ('0' for none), the day's increments, and the counts of each
 * role.
 *
 * The first stored part wins; a copy changes nothing. Answers whether it was the first, and whether
 * all parts are stored.
 */
const SAVE_PART = `${REQUIRE_VIEW}${LUA_REGISTER_BATCH}${LUA_COUNT_DAY}${LUA_REFUND}${LUA_WAS_SAVED}
local part, lineCount, evaluatedAt = ARGV[2], tonumber(ARGV[4]), ARGV[5]
local acceptedAtMs = batch.acceptedAtMs
${REQUIRE_RESULTS}registerBatch()
local isCopy = redis.call('HSETNX', KEYS[5], part, ARGV[6]) == 0
redis.call('PEXPIREAT', KEYS[5], batch.retainUntilMs)
if isCopy or wasSaved(batch.requestId .. '/' .. part, batch.retainUntilMs, now) then
  return { 0, isComplete() and 1 or 0 }
end
redis.call('ZADD', KEYS[6], ARGV[3], part .. ':' .. lineCount)
redis.call('HINCRBY', batchKey, 'partsDone', 1)
local done = redis.call('HINCRBY', batchKey, 'done', lineCount)
freePlaces(batch.requestId, lineCount)
for _, role in ipairs(cjson.decode(ARGV[9])) do
  for _, outcome in ipairs({ 'granted', 'denied', 'undetermined', 'gained', 'lost' }) do
    local count = role[outcome] or 0
    if count > 0 then redis.call('HINCRBY', batchKey, outcome .. ':' .. role.id, count) end
  end
end
if evaluatedAt > (redis.call('HGET', batchKey, 'evaluatedAt') or '') then
  redis.call('HSET', batchKey, 'evaluatedAt', evaluatedAt)
end
local complete = isComplete()
if complete then
  expireCounts()
  redis.call('ZREM', ofAppKey, batch.requestId)
  for _, channel in ipairs(redis.call('SMEMBERS', KEYS[7])) do redis.call('PUBLISH', ofSystem(channel), batch.requestId) end
end
redis.call('PEXPIREAT', KEYS[6], batch.retainUntilMs)
local charged = tonumber(redis.call('HGET', batchKey, 'charged') or done)
if done > charged then
  redis.call('INCRBY', KEYS[8], done - charged)
  redis.call('HSET', batchKey, 'charged', done)
end
refundTo(KEYS[8], tonumber(ARGV[7]))
countDay(KEYS[9], KEYS[10], ARGV[8])
return { 1, complete and 1 or 0 }
`;

/** KEYS: index. ARGV: the index of an entry, most entries that matter. */
const COUNT_FINISHED = `${REQUIRE_VIEW}
local from, to = tonumber(ARGV[1]), ARGV[1] + ARGV[2]
local held = redis.call('ZREVRANGEBYSCORE', KEYS[1], from, '-inf', 'WITHSCORES', 'LIMIT', 0, 1)
local parts = redis.call('ZRANGEBYSCORE', KEYS[1], held[2] or from, '(' .. to, 'WITHSCORES')
local finished = from
for i = 1, #parts, 2 do
  local first = tonumber(parts[i + 1])
  if first > finished then break end
  finished = math.max(finished, first + tonumber(string.match(parts[i], '^%d+:(%d+)$')))
end
return math.min(finished, to) - from
`;
