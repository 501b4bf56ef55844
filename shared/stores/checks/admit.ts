import { monthEndsAt } from '#shared/contracts/durations.ts';
import { NONCE_MS } from '#shared/contracts/sign-in/sign-in-request.ts';
import { ServiceError } from '#shared/errors.ts';
import { LUA_HELD_ENTRIES } from '#shared/fairness/held-places.ts';
import { LUA_REFUND } from '#shared/fairness/throttle.ts';
import { batchCalls } from '#shared/redis/batch-calls.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { LUA_NOW, VIEW_KEYS } from '#shared/redis/fence.ts';
import { makeScript, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { LUA_REQUIRE_ROOM } from '#shared/redis/view.ts';
import { LUA_ACCOUNT_BYTES, LUA_COUNT_DAY, LUA_NOTE_ACTIVE } from '../usage/usage-days.ts';

/** The counter of checks that an app's quota was charged for in a calendar month (UTC,
 * `2026-11`). */
export const monthCounterKey = (clientId: string, month: string): string => `quota:{${clientId}}:${month}`;

/** How much of the month's counter the checks of watches are. */
export const watchShareKey = (monthCounter: string): string => `${monthCounter}:watches`;

export const readMonthUsed = (redis: Redis, clientId: string, month: string): Promise<number> =>
  inStore(async () => Number((await redis.get(monthCounterKey(clientId, month))) ?? 0));

/** The claim of an idempotency key, given by its SHA-256. */
export const claimKey = (clientId: string, keyHash: string): string => `claim:{${clientId}}:${keyHash}`;

/** The mark that a nonce was used, and by which request. */
export const nonceKey = (clientId: string, nonce: string): string => `nonce:{${clientId}}:${nonce}`;

export const logKey = (clientId: string, bucket: Bucket): string => `rate:{${clientId}}:${bucket}`;

/** How many poll requests a second an app may send for each check a second. */
const POLL_FACTOR = 5;
/** A clock read before the script may be behind Redis's by a little: which months are offered
 * allows for it. */
const MONTH_EDGE_MS = 60_000;
/** Admissions in one call: as long as it takes, Redis does nothing else (about 20 µs for each). */
const ADMISSIONS_MAX = 256;

/** POST of a check, or any authenticated GET: each has a log of its own. */
export type Bucket = 'per-second' | 'per-second-poll';

/** A nonce that was issued to the client app. */
export type PresentedNonce = {
  readonly nonce: string;
  /** Epoch ms of Redis's clock. */
  readonly issuedAtMs: number;
};

export type AdmitRequest = {
  readonly clientId: string;
  readonly accountId: string;
  readonly limits: { readonly requestsPerSecond: number; readonly requestsPerMonth: number };
  readonly bucket: Bucket;
  /** Whether this request's place in the window was paid already: set when the same request asks
   * again. */
  readonly isPaid?: boolean | undefined;
  /** Requests that it counts for in the window: all of them fit, or it is refused. Default 1. */
  readonly places?: number | undefined;
  /** Without it only the rate counts. */
  readonly check?: AskedCheck | undefined;
};

/** A valid check, as the limits see it. */
export type AskedCheck = {
  /** The seed of the id; stored with a claim, so that a replay gets the same id. */
  readonly seed: string;
  /** Bytes of the record to be written, which count towards the account's day. Default 0: they
   * count when it is written. */
  readonly bytes?: number | undefined;
  /** Checks of the month's quota that it costs: all are charged, or none. Default 1. */
  readonly cost?: number | undefined;
  /** Of a batch, the account of the app: the entries count as unfinished until they are
   * stored. */
  readonly batchOf?: string | undefined;
  /** Whether the request is refused unless an earlier request has claimed its key. Default
   * false. */
  readonly isReplayOnly?: boolean;
  /** Whether the request only asks: the limits answer as they would now, and nothing is charged,
   * held or claimed. Default false. */
  readonly isTrial?: boolean;
  /** Used by this check if it is charged. */
  readonly nonce?: PresentedNonce | undefined;
  readonly claim?:
    | {
        /** SHA-256, hex. */
        readonly keyHash: string;
        readonly bodyHash: string;
        /** Seed of the claim that is spent and may be replaced. */
        readonly replaces?: string | undefined;
      }
    | undefined;
};

type LimitFigures = {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
};

export type Claim = {
  /** When the check was admitted, epoch ms of Redis's clock: the time in its id. */
  readonly atMs: number;
  readonly seed: string;
  /** Known once the check was published. */
  readonly requestId: string | undefined;
  readonly month: string | undefined;
};

/**
 * The decision on a request.
 *
 * | outcome | meaning | in the log | charged |
 * |---|---|---|---|
 * | `rate-limited`, `quota-exceeded` | refused | no | no |
 * | `bytes-exceeded` | refused: the account has made the system keep what it may today | no | no |
 * | `lane-full` | refused: account or app has used its share of unfinished entries of batches | yes | no |
 * | `nonce-expired`, `nonce-used` | refused: the sign-in's nonce is too old, or another request has used it | yes | no |
 * | `counted` | no valid check, only the rate was taken; of `isReplayOnly`: there is nothing to replay; of `isTrial`: the check would be fresh or taken over | yes | no |
 * | `fresh` | a new check | yes | yes |
 * | `taken-over` | claimed ≥ 5 s ago and never marked published: to be published again, as it was | yes | was |
 * | `claimed` | another request holds the claim and has not published yet | yes | no |
 * | `published` | a replay | yes | no |
 * | `key-reused` | the key belongs to another body | yes | no |
 */
export const ADMIT_OUTCOMES = [
  'rate-limited',
  'quota-exceeded',
  'bytes-exceeded',
  'lane-full',
  'nonce-expired',
  'nonce-used',
  'counted',
  'fresh',
  'taken-over',
  'claimed',
  'published',
  'key-reused',
] as const;
export type AdmitOutcome = (typeof ADMIT_OUTCOMES)[number];

export type Admission = {
  readonly outcome: AdmitOutcome;
  /** Epoch ms of Redis's clock. */
  readonly nowMs: number;
  readonly second: LimitFigures;
  /** For the check bucket alone. */
  readonly month: (LimitFigures & { readonly name: string }) | undefined;
  /** The claim that was found: for the last four outcomes, and for `counted` one that a check would
   * take over. */
  readonly claim: Claim | undefined;
};

type Charge = {
  readonly clientId: string;
  readonly month: string;
  /** Checks that were charged. Default 1. */
  readonly count?: number;
  /** The nonce that the check used, and the seed of the check. */
  readonly nonce?: { readonly nonce: string; readonly seed: string } | undefined;
  /** Bytes of records that were not written, and when they were counted, epoch ms. */
  readonly unwritten?: { readonly accountId: string; readonly atMs: number; readonly bytes: number };
};

export type ClaimRef = { readonly clientId: string; readonly keyHash: string; readonly seed: string };

/**
 * @param now Redis's clock as this process knows it; it only chooses which two months are offered
 *   to the script.
 */
export function makeAdmitter(redis: Redis, now: () => number) {
  const run = makeScript<string[]>(redis, ADMIT_LUA);
  const mark = makeScript<number>(redis, MARK_PUBLISHED_LUA);
  const drop = makeScript<number>(redis, DROP_CLAIM_LUA);
  const release = makeScript<number>(redis, RELEASE_LUA);
  const admit = batchCalls(ADMISSIONS_MAX, async (requests: readonly AdmitRequest[]) => {
    const months = monthsAt(now() - MONTH_EDGE_MS);
    const [first, second] = months;
    const keys: string[] = [VIEW_KEYS.noncesNotBefore];
    for (const request of requests) keys.push(...keysOf(request, months));
    const judged = JSON.stringify(requests.map(judgedOf));
    const replies = await run(keys, [first.endMs, second.endMs, first.name, second.name, judged]);
    return requests.map((request, index) => readReply(request, months, replies[index] ?? FAILED));
  });
  return {
    /** One round trip, shared by concurrent callers: rate, quota and idempotency claim. Throws
     * ServiceError `store-unavailable`, `view-rebuilding`. */
    admit,
    /** Says that the broker has the check, so that a replay is answered at once. */
    async markPublished(claim: ClaimRef & { readonly requestId: string }): Promise<void> {
      await mark([claimKey(claim.clientId, claim.keyHash)], [claim.seed, claim.requestId]);
    },
    /**
     * Drops the claim of a check that was surely not published. False if a retry has taken the
     * claim over, or may have because Redis has lost the claim: it may have published the check,
     * which keeps its charge then.
     */
    dropClaim: async ({ clientId, keyHash, seed }: ClaimRef): Promise<boolean> =>
      (await drop([claimKey(clientId, keyHash)], [seed])) === 1,
    /** Refunds a charge, and gives the nonce and the bytes back. */
    async release({ clientId, month, count = 1, nonce, unwritten }: Charge): Promise<void> {
      const used = nonce ? nonceKey(clientId, nonce.nonce) : '';
      const { accountId = '', atMs = 0, bytes = 0 } = unwritten ?? {};
      const keys = [monthCounterKey(clientId, month), used];
      await release(keys, [count, nonce?.seed ?? '', clientId, accountId, atMs, bytes]);
    },
  };
}

export type Admitter = ReturnType<typeof makeAdmitter>;

const limitOf = ({ bucket, limits }: AdmitRequest): number =>
  bucket === 'per-second' ? limits.requestsPerSecond : limits.requestsPerSecond * POLL_FACTOR;

const quotaOf = ({ bucket, limits }: AdmitRequest): number =>
  bucket === 'per-second' ? limits.requestsPerMonth : 0;

type Months = readonly [Month, Month];
type Month = { readonly name: string; readonly endMs: number };

const monthAt = (ms: number): Month => {
  const name = new Date(ms).toISOString().slice(0, 7);
  return { name, endMs: monthEndsAt(name) };
};

/** The month of an instant and the next one. */
function monthsAt(atMs: number): Months {
  const first = monthAt(atMs);
  return [first, monthAt(first.endMs)];
}

function keysOf(request: AdmitRequest, [first, second]: Months): string[] {
  const { clientId, check } = request;
  return [
    logKey(clientId, request.bucket),
    monthCounterKey(clientId, first.name),
    monthCounterKey(clientId, second.name),
    check?.claim ? claimKey(clientId, check.claim.keyHash) : '',
    check?.nonce ? nonceKey(clientId, check.nonce.nonce) : '',
  ];
}

const judgedOf = (request: AdmitRequest) => ({
  ...request,
  limit: limitOf(request),
  quota: quotaOf(request),
});

const FAILED = 'failed';

function readReply(request: AdmitRequest, months: Months, reply: string): Admission | ServiceError {
  if (reply === FAILED) return new ServiceError('store-unavailable', 'Redis rejected the admission script');
  const [outcome, nowMs, remaining, resetMs, used, whichMonth, at, seed, id, month] = reply.split(' ');
  const current = months[Number(whichMonth) === 2 ? 1 : 0];
  const quota = quotaOf(request);
  return {
    outcome: outcome as AdmitOutcome,
    nowMs: Number(nowMs),
    second: { limit: limitOf(request), remaining: Number(remaining), resetMs: Number(resetMs) },
    month:
      quota === 0
        ? undefined
        : {
            name: current.name,
            limit: quota,
            remaining: Math.max(0, quota - Number(used)),
            resetMs: current.endMs - Number(nowMs),
          },
    claim: seed
      ? { atMs: Number(at), seed, requestId: id || undefined, month: month || undefined }
      : undefined,
  };
}

/** How far Redis's clock may be behind a log's last entry before the log is deleted; and how long a
 * log outlives its last entry. */
const CLOCK_STEP_MS_MAX = 5_000;
const LOG_KEPT_MS = 2 * 1_000 + CLOCK_STEP_MS_MAX;

/**
 * `endInstant(log)`: an instant that is later than every admission so far, and no later than any
 * from now on. An entry in the log that repeats its count ensures that: the log's clock does not go
 * back.
 */
export const END_INSTANT_LUA = `
local function endInstant(log)
  ${LUA_NOW}
  local last, count = string.match(redis.call('LINDEX', log, -1) or '0:0', '^(%d+):(%d+)$')
  if last - now > ${CLOCK_STEP_MS_MAX} then return now end
  local instant = math.max(now, tonumber(last)) + 1
  redis.call('RPUSH', log, instant .. ':' .. count)
  redis.call('PEXPIRE', log, ${LOG_KEPT_MS})
  return instant
end
`;

/** Keys of one admission; a call carries several. */
const ADMISSION_KEYS = 5;

/** What a claim and the mark of a nonce count for. */
export const CLAIM_BYTES = 512;
export const NONCE_BYTES = 256;
/** The mark of a nonce outlives it, so that a step of Redis's clock does not free it. */
const NONCE_MARK_MS = NONCE_MS + 60_000;

/**
 * The one atomic step of admission, on Redis's clock, for several requests one after another: each
 * is judged as if it had come alone, and a failed one (a broken key) does not affect the others.
 *
 * KEYS: 1 the instant before which nonces are void. Then for each request, all of one client app:
 *
 *   1 log of accepted requests (list of `ms:count`, oldest first)
 *   2, 3 the quota counters of the first and the second month   4 the idempotency claim (hash), or ''
 *   5 the mark of the nonce (who used it), or ''
 *
 * ARGV: 1, 2 end of the first and the second month, ms   3, 4 names of the months   5 the requests,
 * as JSON.
 *
 * Answers, one text a request: outcome, now (ms), left in the window, ms until the window's oldest
 * leaves, month's counter, which month (1 or 2), claim's time, claim's seed, claim's request id,
 * claim's month, with a blank between them; or `failed`.
 *
 * The log is exact at every rate. An entry's count is that of all requests since the log began, so
 * the window holds the last count less the first entry's, which has left the window: log and total
 * are one value, and expire as one. Requests of one millisecond share an entry, so the log never
 * holds more than 1 003. A request is accepted if fewer than the limit lie in [now - 1000, now]: so
 * two that are `limit` apart differ by more than 1 000 ms. If Redis's clock is behind the log's
 * last entry by at most CLOCK_STEP_MAX, the time of that entry is used; if it is further behind,
 * the log is deleted.
 */
const ADMIT_LUA = `${REQUIRE_VIEW}${LUA_REQUIRE_ROOM}${LUA_NOTE_ACTIVE}${LUA_ACCOUNT_BYTES}${LUA_COUNT_DAY}${LUA_HELD_ENTRIES}
local WINDOW, CLOCK_STEP_MAX, TAKE_OVER, CLAIM_TTL = 1000, ${CLOCK_STEP_MS_MAX}, 5000, 86400000
local COUNTER_KEPT = 40 * 86400000
${LUA_NOW}
local clock = now

local function admit(k, request)
  local logKey, claimKey, nonceKey = KEYS[k + 1], KEYS[k + 4], KEYS[k + 5]
  local client, account, limit, quota = request.clientId, request.accountId, request.limit, request.quota
  local places, check = request.places or 1, request.check or {}
  local seed, cost, bytes, claim = check.seed, check.cost or 1, check.bytes or 0, check.claim
  local body, issued = claim and claim.bodyHash or '', check.nonce and check.nonce.issuedAtMs
  -- The request that may use the nonce again.
  local owner = claim and claim.keyHash .. body or ''
  -- A claim that is there is found, and none is made.
  local isCountOnly = not request.check or check.isReplayOnly
  local now = clock

  local count, tailMs = 0, nil
  local tail = redis.call('LINDEX', logKey, -1)
  if tail then
    local ms, counted = string.match(tail, '^(%d+):(%d+)$')
    tailMs = tonumber(ms)
    if tailMs - now > CLOCK_STEP_MAX then
      redis.call('DEL', logKey)
      tailMs = nil
    else
      now, count = math.max(now, tailMs), tonumber(counted)
    end
  end
  local left, oldest = 0, nil
  if tailMs then
    left = tonumber(string.match(redis.call('LINDEX', logKey, 0), ':(%d+)$'))
    while true do
      local entry = redis.call('LINDEX', logKey, 1)
      if not entry then break end
      local ms, counted = string.match(entry, '^(%d+):(%d+)$')
      if tonumber(ms) >= now - WINDOW and tonumber(counted) > left then oldest = tonumber(ms) break end
      redis.call('LPOP', logKey)
      left = tonumber(counted)
    end
  end
  local total = count - left

  local month = now < tonumber(ARGV[1]) and 1 or 2
  local used = 0
  if quota > 0 then used = tonumber(redis.call('GET', KEYS[k + 1 + month]) or '0') end
  local function answer(outcome, claim)
    claim = claim or {}
    local resets = oldest and (oldest + WINDOW + 1 - now) or WINDOW
    return table.concat({outcome, now, math.max(0, limit - total), resets, used, month,
      claim.at or '', claim.seed or '', claim.id or '', claim.month or ''}, ' ')
  end
  local function enter()
    if request.isPaid then return end
    total, count = total + places, count + places
    if not tailMs then redis.call('RPUSH', logKey, '0:0') end
    if oldest and tailMs == now then
      redis.call('LSET', logKey, -1, now .. ':' .. count)
    else
      redis.call('RPUSH', logKey, now .. ':' .. count)
    end
    oldest = oldest or now
    redis.call('PEXPIRE', logKey, ${LOG_KEPT_MS})
  end

  local today = math.floor(now / 86400000)
  local hour = math.floor(now / 3600000)
  local function countRefused()
    if quota == 0 then return end
    noteActive(client, hour)
    local ofDay, ofHour = 'usage-day:{' .. client .. '}:' .. today, 'usage-hour:{' .. client .. '}:' .. hour
    countDay(ofSystem(ofDay), ofSystem(ofHour), 'refused 1')
  end

  if not request.isPaid and total + places > limit then countRefused() return answer('rate-limited') end

  if body ~= '' then
    local held = redis.call('HMGET', claimKey, 'body', 'at', 'seed', 'id', 'month', 'state', 'touched')
    if held[1] and held[3] ~= claim.replaces then
      local claim = {at = held[2], seed = held[3], id = held[4], month = held[5]}
      enter()
      if held[1] ~= body then return answer('key-reused', claim) end
      if held[6] == 'published' then return answer('published', claim) end
      if now - tonumber(held[7]) < TAKE_OVER then return answer('claimed', claim) end
      if isCountOnly or check.isTrial then return answer('counted', claim) end
      redis.call('HSET', claimKey, 'touched', now)
      countBytes(account, client, today, bytes)
      return answer('taken-over', claim)
    end
  end

  if isCountOnly then enter() return answer('counted') end
  if quota > 0 and used + cost > quota then countRefused() return answer('quota-exceeded') end
  if quota > 0 then
    local kept, keptMax = accountBytes(account, quota, today)
    if kept >= keptMax or kept + bytes > keptMax then
      countRefused()
      return answer('bytes-exceeded')
    end
  end
  if issued then
    if now - issued >= ${NONCE_MS} or issued <= tonumber(redis.call('GET', KEYS[1]) or '0') then
      enter()
      return answer('nonce-expired')
    end
    local user = redis.call('GET', nonceKey)
    if user and (owner == '' or string.sub(user, 1, #owner) ~= owner) then enter() return answer('nonce-used') end
  end
  if check.batchOf and not hasPlaces(check.batchOf, client, cost, now) then enter() return answer('lane-full') end
  enter()
  if check.isTrial then return answer('counted') end
  if check.batchOf then holdPlaces(seed, check.batchOf, client, cost, now + LEASE_MS) end
  countBytes(account, client, today, bytes + (body ~= '' and ${CLAIM_BYTES} or 0) + (issued and ${NONCE_BYTES} or 0))
  if issued then redis.call('SET', nonceKey, owner .. seed, 'PX', ${NONCE_MARK_MS}) end
  if quota > 0 then
    noteActive(client, hour)
    used = redis.call('INCRBY', KEYS[k + 1 + month], cost)
    if used == cost then redis.call('PEXPIREAT', KEYS[k + 1 + month], tonumber(ARGV[month]) + COUNTER_KEPT) end
  end
  if body ~= '' then
    redis.call('DEL', claimKey)
    redis.call('HSET', claimKey, 'body', body, 'at', now, 'seed', seed, 'state', 'claimed', 'touched', now,
      'month', quota > 0 and ARGV[2 + month] or '')
    redis.call('PEXPIRE', claimKey, CLAIM_TTL)
  end
  return answer('fresh')
end

local answers = {}
for i, request in ipairs(cjson.decode(ARGV[5])) do
  local isDone, answer = pcall(admit, 1 + (i - 1) * ${ADMISSION_KEYS}, request)
  answers[i] = isDone and answer or 'failed'
end
return answers
`;

/** KEYS: claim. ARGV: seed, request id. Only the claim's owner may mark it. */
const MARK_PUBLISHED_LUA = `
if redis.call('HGET', KEYS[1], 'seed') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'state', 'published', 'id', ARGV[2])
end
return 1
`;

/**
 * KEYS: claim. ARGV: seed. Returns 0 if another request has taken the claim over, or if the claim
 * was lost with Redis: it may have been taken over before.
 */
const DROP_CLAIM_LUA = `
local seed, at, touched = unpack(redis.call('HMGET', KEYS[1], 'seed', 'at', 'touched'))
if seed ~= ARGV[1] or touched ~= at then return 0 end
return redis.call('DEL', KEYS[1])
`;

/** KEYS: the month's counter, the mark of the nonce or ''. ARGV: checks charged, seed of the check
 * that used the nonce, client app, account, when the bytes were counted, bytes. */
const RELEASE_LUA = `${LUA_REFUND}${LUA_ACCOUNT_BYTES}
local seed, client, account = ARGV[2], ARGV[3], ARGV[4]
local day, bytes = math.floor(tonumber(ARGV[5]) / 86400000), tonumber(ARGV[6])
if bytes > 0 then uncountBytes(account, client, day, bytes) end
local user = seed ~= '' and redis.call('GET', KEYS[2])
if user and string.sub(user, -#seed) == seed then redis.call('DEL', KEYS[2]) end
refundTo(KEYS[1], tonumber(ARGV[1]))
return 1
`;
