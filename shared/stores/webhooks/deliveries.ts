import { DAY_MS, HOUR_MS } from '#shared/contracts/durations.ts';
import {
  type AttemptClass,
  type WebhookAttempted,
  type WebhookRetry,
  WebhookState,
} from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { pairsOf, REQUIRE_VIEW } from '#shared/redis/script.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { BODY_KEPT_MS, resultKey } from '../checks/results.ts';

const listKey = (clientId: string) => `webhooks:${clientId}`;
const failedKey = (clientId: string) => `webhooks-failed:${clientId}`;
const UNDELIVERED_KEY = 'webhooks-undelivered';

/** Longer than a delivery can take: its record has left Kafka. */
const UNDELIVERED_AGE_MS_MAX = 8 * DAY_MS;
/** Most deliveries looked at for one page. */
const SCANNED_MAX = 1_000;
/** Deliveries that are looked at for it at a time. */
const PAGE_CHUNK = 250;
const FORGOTTEN_AT_ONCE = 200;

/** Whether to handle a record (`claimed`), or to drop it because another record holds this step or
 * a later one. */
export type ClaimOutcome = 'claimed' | 'taken' | 'superseded' | 'finished';

type PageOptions = {
  readonly state?: WebhookState | undefined;
  /** Accepted then or later, epoch ms. */
  readonly sinceMs?: number | undefined;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
  readonly countMax: number;
};

type IdsOptions = Pick<PageOptions, 'sinceMs' | 'before' | 'countMax'>;

/** With `next` there may be more. */
type DeliveryPage = { readonly deliveries: readonly DeliveryView[]; readonly next: string | undefined };

export function makeDeliveries(redis: Redis) {
  const claim = makeBatchedScript<ClaimOutcome>(redis, CLAIM);
  const releaseClaim = makeBatchedScript<number>(redis, RELEASE_CLAIM);
  const record = makeBatchedScript<number>(redis, RECORD);
  const inView = <T>(read: () => Promise<T>, boundMs?: number): Promise<T> =>
    inStore(async () => {
      if ((await redis.exists(GENERATION_KEY)) === 0)
        throw new ServiceError('view-rebuilding', 'the views are being rebuilt');
      return read();
    }, boundMs);

  const readMany = async (requestIds: readonly string[]): Promise<DeliveryView[]> => {
    const views = await Promise.all(
      requestIds.map(async (requestId) =>
        parseDelivery(requestId, await redis.hgetall(deliveryKey(requestId))),
      ),
    );
    return views.filter((view) => view !== undefined);
  };

  const listIds = async (
    clientId: string,
    { sinceMs = 0, before, countMax }: IdsOptions,
  ): Promise<string[]> => {
    const beforeRank = before === undefined ? -1 : await redis.zrevrank(listKey(clientId), before);
    if (beforeRank === null) return [];
    const from = beforeRank + 1;
    const scored = await redis.zrevrange(listKey(clientId), from, from + countMax - 1, 'WITHSCORES');
    return pairsOf(scored).flatMap(([id, acceptedAtMs]) => (Number(acceptedAtMs) >= sinceMs ? [id] : []));
  };

  return {
    /**
     * Claims the current step of `delivery` for the Kafka record at `position`
     * (`topic/partition/offset`). The same record may claim again; a second record at the same step
     * gets `taken`, unless it was deferred more often.
     *
     * A stored body is kept until its delivery has ended, however short its retention.
     */
    claim: (delivery: WebhookRetry, position: string, redisNowMs: number): Promise<ClaimOutcome> =>
      claim(keysOf(delivery), [claimOf(delivery, position, redisNowMs)]),
    /** Releases a claim, before the record that claims the step next is published. */
    async releaseClaim(
      delivery: WebhookRetry,
      position: string,
      nextAttemptAt: string,
      redisNowMs: number,
    ): Promise<void> {
      const { requestId, resendCount, attemptCount } = delivery;
      const keys = [deliveryKey(requestId), resultKey(requestId)];
      const step = [resendCount, attemptCount, position, nextAttemptAt];
      await releaseClaim(keys, [...step, keepBodyUntil(delivery, redisNowMs) ?? '']);
    },
    /** Applies a record of the attempt log. Idempotent. */
    async record(attempted: WebhookAttempted): Promise<void> {
      await record(keysOf(attempted), [recordOf(attempted)]);
    },
    read: (requestId: string): Promise<DeliveryView | undefined> =>
      inView(async () => (await readMany([requestId]))[0]),
    /** Those that there are, in the order of the ids. */
    readMany: (requestIds: readonly string[]): Promise<DeliveryView[]> => inView(() => readMany(requestIds)),
    /**
     * Ids of a client app's newest 10 000 deliveries, newest first by acceptance, those after
     * `before`. None if `before` is no longer among them: it was at their end.
     */
    listIds: (clientId: string, options: IdsOptions): Promise<string[]> =>
      inView(() => listIds(clientId, options), LISTING_TIMEOUT_MS),
    /**
     * One page of a client app's deliveries, newest first. At most 1 000 are looked at for it, so
     * a page may have fewer than `countMax` deliveries and still a `next`.
     */
    page: (clientId: string, { state, sinceMs, before, countMax }: PageOptions): Promise<DeliveryPage> =>
      inView(async () => {
        const found: DeliveryView[] = [];
        let last = before;
        for (let scanned = 0; scanned < SCANNED_MAX; scanned += PAGE_CHUNK) {
          const ids = await listIds(clientId, { sinceMs, before: last, countMax: PAGE_CHUNK });
          // The state alone: a delivery has up to 20 KiB.
          const states = state && (await Promise.all(ids.map((id) => redis.hget(deliveryKey(id), 'state'))));
          const wanted = states ? ids.filter((_, i) => states[i] === state) : ids;
          for (let at = 0; at < wanted.length; at += countMax)
            for (const view of await readMany(wanted.slice(at, at + countMax))) {
              // It may have changed meanwhile.
              if (state !== undefined && view.state !== state) continue;
              found.push(view);
              if (found.length === countMax) return { deliveries: found, next: view.requestId };
            }
          if (ids.length < PAGE_CHUNK) return { deliveries: found, next: undefined };
          last = ids.at(-1);
        }
        return { deliveries: found, next: last };
      }, LISTING_TIMEOUT_MS),
    /** Ids of a client app's deliveries that were exhausted or stopped from `sinceMs` to `untilMs`,
     * oldest first. */
    failedSince: (clientId: string, sinceMs: number, untilMs?: number): Promise<string[]> =>
      inView(() =>
        redis.zrangebyscore(failedKey(clientId), sinceMs, untilMs ?? '+inf', 'LIMIT', 0, FAILED_MAX),
      ),
    /** How many of a client app's deliveries were exhausted or stopped since then. */
    countFailedSince: (clientId: string, sinceMs: number): Promise<number> =>
      inView(() => redis.zcount(failedKey(clientId), sinceMs, '+inf')),
    /** Removes the deliveries of an app that is gone, with their bodies and results. */
    async forget(clientId: string): Promise<void> {
      const list = listKey(clientId);
      for (let isDone = false; !isDone; ) {
        const ids = await inStore(() => redis.zrange(list, '0', `${FORGOTTEN_AT_ONCE - 1}`));
        isDone = ids.length < FORGOTTEN_AT_ONCE;
        if (ids.length === 0) break;
        await inStore(() =>
          Promise.all([
            redis.unlink(...ids.flatMap((id) => [deliveryKey(id), resultKey(id)])),
            redis.zrem(UNDELIVERED_KEY, ...ids),
            redis.zrem(list, ...ids),
          ]),
        );
      }
      await inStore(() => redis.unlink(failedKey(clientId)));
    },
    /** When the oldest undelivered webhook was accepted, epoch ms. */
    oldestUndeliveredAt: (nowMs: number): Promise<number | undefined> =>
      inStore(async () => {
        await redis.zremrangebyscore(UNDELIVERED_KEY, '-inf', `${nowMs - UNDELIVERED_AGE_MS_MAX}`);
        const [, score] = await redis.zrange(UNDELIVERED_KEY, '0', '0', 'WITHSCORES');
        return score === undefined ? undefined : Number(score);
      }),
  };
}

/** The view of deliveries: the dispatcher writes it, admin and portal read it, a replay applies
 * the attempt log. */
export type Deliveries = ReturnType<typeof makeDeliveries>;

/** As the scripts expect them: delivery, list, failed, undelivered, the stored body. */
const keysOf = ({ requestId, clientId }: Pick<WebhookRetry, 'requestId' | 'clientId'>) => [
  deliveryKey(requestId),
  listKey(clientId),
  failedKey(clientId),
  UNDELIVERED_KEY,
  resultKey(requestId),
];

const claimOf = (delivery: WebhookRetry, place: string, redisNowMs: number): string =>
  JSON.stringify({
    ...delivery,
    place,
    acceptedAtMs: Date.parse(delivery.acceptedAt),
    keptUntilMs: Math.max(Date.parse(delivery.retainUntil), redisNowMs + DELIVERY_KEPT_MS),
    keepBodyUntilMs: keepBodyUntil(delivery, redisNowMs),
  });

function recordOf({ responseBody: _, ...attempted }: WebhookAttempted): string {
  const atMs = Date.parse(attempted.at);
  return JSON.stringify({
    ...attempted,
    atMs,
    line: attempted.attempt === undefined ? '' : JSON.stringify(attemptLineOf(attempted)),
    acceptedAtMs: Date.parse(attempted.acceptedAt),
    keptUntilMs: deliveryEndsAt(attempted),
    keepBodyUntilMs: bodyEndsAt(attempted, atMs),
  });
}

/** Until when a delivery is shown, epoch ms: as long as its result, and at least 72 h, so that it
 * can be resent. */
export const deliveryEndsAt = ({ retainUntil, at }: Pick<WebhookAttempted, 'retainUntil' | 'at'>): number =>
  Math.max(Date.parse(retainUntil), Date.parse(at) + DELIVERY_KEPT_MS);

/** Whether a delivery ended without being taken: it can be resent. */
export const hasFailed = (state: WebhookState | null): boolean =>
  state === 'exhausted' || state === 'stopped';

/** Until when the body is kept after an attempt, epoch ms: of a failed delivery as long as it is
 * shown, of one that was delivered no longer than its retention. */
function bodyEndsAt(attempted: WebhookAttempted, atMs: number): number | undefined {
  if (hasFailed(attempted.state)) return deliveryEndsAt(attempted);
  const keptUntil = keepBodyUntil(attempted, atMs);
  return attempted.state === 'pending' ? keptUntil : keptUntil && Date.parse(attempted.retainUntil);
}

/*
 * One hash per delivery: `state`, and its progress as (`resendCount`, `step`, `place`).
 *
 *   resendCount  a record with a lower one is superseded.
 *   step   attempts made since that resend. A record at an earlier step is superseded.
 *   place  the position of the Kafka record that has claimed this step, or ''.
 *   deferrals  how often that record was deferred. A record that was deferred more often takes the claim over: it exists
 *          because the holder deferred, and Redis may have lost the release of the claim. If the holder was read again and is
 *          being attempted, the step is attempted twice.
 *
 *   (no hash) ──claim──► pending, place ──record──► pending, step + 1, place ''   (the next record claims it)
 *                          │   ▲                └──► delivered | stopped | exhausted   (a later resend claims it)
 *                          └───┘ deferred: place ''
 *
 * A delivery that was given up at a step without an attempt may be claimed at that step again, by a
 * dead-lettered record that an operator has sent again.
 *
 * So of two records at one step that were deferred equally often, the first to claim is handled,
 * however often it is read, and the other is dropped.
 */

export const deliveryKey = (requestId: string): string => `webhook:${requestId}`;

/** A delivery is kept until its result expires, and at least this long after its last change. */
export const DELIVERY_KEPT_MS = 72 * HOUR_MS;

/** Until when a body must be kept for a delivery that is open, epoch ms; undefined if its retention
 * is longer. */
export function keepBodyUntil(
  { retainUntil }: Pick<WebhookRetry, 'retainUntil'>,
  nowMs: number,
): number | undefined {
  const endsAtMs = nowMs + BODY_KEPT_MS;
  return Date.parse(retainUntil) < endsAtMs ? endsAtMs : undefined;
}

/** Most deliveries listed per client app; older ones are still shown by their id. */
export const LISTED_MAX = 10_000;
/** Most failed deliveries kept per client app for "send all failed again". */
export const FAILED_MAX = 100_000;
/** Bytes of attempt lines kept with a delivery, the newest: about 80 attempts. */
const ATTEMPT_LINES_BYTES_MAX = 16_384;

/**
 * Adds to one of a client app's lists, which expires no sooner than its last entry. The list is cut
 * to its bound at every 64th entry only, to save time.
 */
const addToList = (key: number, score: string, expireAt: string, countMax: number): string => `
  redis.call('ZADD', KEYS[${key}], ${score}, requestId)
  local listed = redis.call('ZCARD', KEYS[${key}])
  if listed == 1 then redis.call('PEXPIREAT', KEYS[${key}], ${expireAt})
  else redis.call('PEXPIREAT', KEYS[${key}], ${expireAt}, 'GT') end
  if listed % 64 == 1 then redis.call('ZREMRANGEBYRANK', KEYS[${key}], 0, -${countMax + 1}) end`;

/** `keepBody(key, keepUntil)` keeps a stored body until then, unless it is kept longer. Nothing where
 * `keepUntil` is '' or nil: the retention of the body is long enough. */
export const LUA_KEEP_BODY = `
local function keepBody(key, keepUntil)
  if (keepUntil or '') ~= '' then redis.call('PEXPIREAT', key, keepUntil, 'GT') end
end
`;

/** KEYS: delivery, list, failed, undelivered, the stored body. ARGV: the claim. */
const CLAIM = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
local claim = cjson.decode(ARGV[1])
local requestId, resendCount, step, place = claim.requestId, claim.resendCount, claim.attemptCount, claim.place
local deferrals = claim.deferralCount
local found = redis.call('HMGET', KEYS[1], 'resendCount', 'step', 'place', 'state', 'deferrals')
if found[1] then
  local foundCount, foundStep = tonumber(found[1]), tonumber(found[2])
  if resendCount < foundCount then return 'superseded' end
  if resendCount == foundCount then
    if step < foundStep then return 'superseded' end
    if found[4] ~= 'pending' and not (found[4] == 'exhausted' and step == foundStep) then return 'finished' end
    local isHeld = step == foundStep and found[3] ~= '' and found[3] ~= place
    if isHeld and deferrals <= tonumber(found[5] or '0') then return 'taken' end
  end
end
redis.call('HSET', KEYS[1], 'resendCount', resendCount, 'step', step, 'place', place, 'deferrals', deferrals,
  'state', 'pending', 'clientId', claim.clientId, 'callbackUrl', claim.callbackUrl, 'acceptedAt', claim.acceptedAt,
  'retainUntil', claim.retainUntil)
redis.call('PEXPIREAT', KEYS[1], claim.keptUntilMs)
if found[1] then
  redis.call('HDEL', KEYS[1], 'nextAttemptAt')
  if found[4] ~= 'pending' then redis.call('ZREM', KEYS[3], requestId) end
else ${addToList(2, 'claim.acceptedAtMs', 'claim.keptUntilMs', LISTED_MAX)} end
redis.call('ZADD', KEYS[4], 'NX', claim.acceptedAtMs, requestId)
keepBody(KEYS[5], claim.keepBodyUntilMs)
return 'claimed'
`;

/** KEYS: delivery, the stored body. ARGV: resend count, step, place, next attempt,
 * keep the body until. */
const RELEASE_CLAIM = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
local found = redis.call('HMGET', KEYS[1], 'resendCount', 'step', 'place', 'state')
if found[4] == 'pending' then keepBody(KEYS[2], ARGV[5]) end
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] or found[3] ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], 'place', '', 'nextAttemptAt', ARGV[4])
return 1
`;

/**
 * KEYS: delivery, list, failed, undelivered, the stored body. ARGV: the record. Without an attempt it
 * is that of a delivery that was given up. A body that was kept beyond its retention ends when it is
 * delivered; after a failure it is kept as long as the delivery is shown, to be resent. A
 * line that is already stored is not added again, so a replay may read a record twice.
 */
const RECORD = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
local record = cjson.decode(ARGV[1])
local requestId, resendCount, step, state = record.requestId, record.resendCount, record.attempt, record.state
local line = record.line
local found = redis.call('HMGET', KEYS[1], 'resendCount', 'step', 'attempts', 'state', 'place')
local foundCount, foundStep, lines = tonumber(found[1]), tonumber(found[2]), found[3] or ''
local fields = {}
local function set(name, value) fields[#fields + 1] = name; fields[#fields + 1] = value end
if line ~= '' and not string.find(lines, line, 1, true) then
  lines = lines .. line .. '\\n'
  while #lines > ${ATTEMPT_LINES_BYTES_MAX} do lines = string.sub(lines, string.find(lines, '\\n', 1, true) + 1) end
  set('attempts', lines)
end
if not foundCount then
  for _, name in ipairs({ 'clientId', 'callbackUrl', 'retainUntil', 'acceptedAt' }) do set(name, record[name]) end
  ${addToList(2, 'record.acceptedAtMs', 'record.keptUntilMs', LISTED_MAX)}
end
local advances = not foundCount or resendCount > foundCount
  or (resendCount == foundCount and found[4] == 'pending' and (not step or step > foundStep))
if advances then
  set('resendCount', resendCount) set('step', step or foundStep or 0) set('place', '') set('state', state)
  if record.nextAttemptAt then set('nextAttemptAt', record.nextAttemptAt)
  elseif foundStep ~= 0 then redis.call('HDEL', KEYS[1], 'nextAttemptAt') end
  if state == 'pending' then
    redis.call('ZADD', KEYS[4], 'NX', record.acceptedAtMs, requestId)
    keepBody(KEYS[5], record.keepBodyUntilMs)
  else
    redis.call('ZREM', KEYS[4], requestId)
    if record.keepBodyUntilMs then redis.call('PEXPIREAT', KEYS[5], record.keepBodyUntilMs) end
  end
  if state == 'exhausted' or state == 'stopped' then ${addToList(3, 'record.atMs', 'record.keptUntilMs', FAILED_MAX)}
  elseif not foundCount or resendCount ~= foundCount then redis.call('ZREM', KEYS[3], requestId) end
end
if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
-- A claim has already set the expiry.
if not foundCount or (advances and found[5] == '') then redis.call('PEXPIREAT', KEYS[1], record.keptUntilMs) end
return 1
`;

/** One attempt as it is shown; without a status if the receiver did not answer. */
export type AttemptView = Pick<WebhookAttempted, 'resendCount' | 'at' | 'status'> & {
  readonly attempt: number;
  readonly durationMs: number;
  readonly class: AttemptClass;
};

/** One delivery as it is shown; its attempts are in the order in which they began. */
export type DeliveryView = NonNullable<ReturnType<typeof parseDelivery>>;

/** An attempt as it is stored: a repeated line is recognised by its bytes. */
export const attemptLineOf = (attempted: WebhookAttempted) => ({
  attempt: attempted.attempt,
  resendCount: attempted.resendCount,
  at: attempted.at,
  status: attempted.status,
  durationMs: attempted.durationMs ?? 0,
  class: attempted.class,
});

/** `undefined` for a hash (see above) that is missing or incomplete. */
export function parseDelivery(requestId: string, stored: Readonly<Record<string, string>>) {
  const { clientId, callbackUrl, state, acceptedAt, retainUntil } = stored;
  const { resendCount, nextAttemptAt, attempts = '' } = stored;
  if (!clientId || !callbackUrl || !state || !acceptedAt || !retainUntil) return undefined;
  const lines = attempts.split('\n').filter((line) => line !== '');
  return {
    ...{ requestId, clientId, callbackUrl, acceptedAt, retainUntil, nextAttemptAt },
    state: WebhookState.parse(state),
    resendCount: Number(resendCount),
    attempts: lines.map((line) => JSON.parse(line) as AttemptView).sort(byStart),
  };
}

/** The log of an attempt may be stored after that of a resend that began later. */
const byStart = (a: AttemptView, b: AttemptView): number =>
  Date.parse(a.at) - Date.parse(b.at) || a.resendCount - b.resendCount || a.attempt - b.attempt;
