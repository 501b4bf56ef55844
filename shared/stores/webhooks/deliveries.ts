import { DAY_MS } from '#shared/contracts/durations.ts';
import type { WebhookAttempted, WebhookRetry, WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from '#shared/redis/connect.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, type ViewAccess } from '#shared/redis/view.ts';
import { resultKey, type SaveResult, savingArgumentsOf, savingKeysOf } from '../checks/results.ts';
import {
  CLAIM,
  DELIVERY_KEPT_MS,
  deliveryKey,
  FAILED_MAX,
  keepBodyUntil,
  RECORD,
  RELEASE_CLAIM,
  SAVE_AND_CLAIM,
} from './delivery-scripts.ts';
import { attemptLineOf, type DeliveryView, parseDelivery } from './delivery-view.ts';

const listKey = (clientId: string) => `webhooks:${clientId}`;
const failedKey = (clientId: string) => `webhooks-failed:${clientId}`;
const UNDELIVERED_KEY = 'webhooks-undelivered';

/** Longer than a delivery can take: its record has left Kafka. */
const UNDELIVERED_AGE_MS_MAX = 8 * DAY_MS;
/** Most deliveries read for one page. */
const SCANNED_MAX = 1_000;
const PAGE_CHUNK_MIN = 50;

/** Whether to handle a record (`claimed`), or to drop it because another record holds this step or a later one. */
export type ClaimOutcome = 'claimed' | 'taken' | 'superseded' | 'finished';

export type PageOptions = {
  readonly state?: WebhookState | undefined;
  /** First claimed then or later, epoch ms. */
  readonly sinceMs?: number | undefined;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
  readonly countMax: number;
};

export type IdsOptions = Pick<PageOptions, 'sinceMs' | 'before' | 'countMax'>;

export type DeliveryPage = {
  readonly deliveries: readonly DeliveryView[];
  /** Present if there may be more. */
  readonly next: string | undefined;
};

/** The view of deliveries: the dispatcher writes it, admin and portal read it, a rebuild applies the attempt log. */
export type Deliveries = {
  /**
   * Claims the current step of `delivery` for the Kafka record at `position` (`topic/partition/offset`).
   * The same record may claim again; a second record at the same step gets `taken`, unless it was deferred more often.
   *
   * A stored body is kept until its delivery has ended, however short its retention.
   *
   * @param body stored with the claim, unless one is stored
   */
  readonly claim: (
    delivery: WebhookRetry,
    position: string,
    redisNowMs: number,
    body?: string,
  ) => Promise<ClaimOutcome>;
  /**
   * Saves a result unless one is stored, and claims its delivery, in one step. Returns the stored bytes, which are the
   * ones to deliver. The result is saved whatever the outcome of the claim.
   */
  readonly saveAndClaim: (
    delivery: WebhookRetry,
    saving: SaveResult,
    position: string,
    redisNowMs: number,
  ) => Promise<{ readonly outcome: ClaimOutcome; readonly resultJson: string }>;
  /** Releases a claim, before the record that claims the step next is published. */
  readonly releaseClaim: (
    delivery: WebhookRetry,
    position: string,
    nextAttemptAt: string,
    redisNowMs: number,
  ) => Promise<void>;
  /** Applies a record of the attempt log. Idempotent; a rebuilder passes its lock's token as `access`. */
  readonly record: (attempted: WebhookAttempted, access?: ViewAccess) => Promise<void>;
  readonly read: (requestId: string) => Promise<DeliveryView | undefined>;
  /** Those that there are, in the order of the ids. */
  readonly readMany: (requestIds: readonly string[]) => Promise<DeliveryView[]>;
  /**
   * Ids of a client app's newest 10 000 deliveries, newest first, those after `before`. None if `before` is no longer
   * among them: it was at their end.
   */
  readonly listIds: (clientId: string, options: IdsOptions) => Promise<string[]>;
  /**
   * One page of a client app's deliveries, newest first. At most 1 000 are read for one page, so a page may have
   * fewer than `countMax` deliveries and still a `next`.
   */
  readonly page: (clientId: string, options: PageOptions) => Promise<DeliveryPage>;
  /** Ids of a client app's deliveries that were exhausted or stopped from `sinceMs` to `untilMs`, oldest first. */
  readonly failedSince: (clientId: string, sinceMs: number, untilMs?: number) => Promise<string[]>;
  /** When the oldest undelivered webhook was accepted, epoch ms. */
  readonly oldestUndeliveredAt: (nowMs: number) => Promise<number | undefined>;
};

/**
 * @example
 * if ((await makeDeliveries(redis).claim(delivery, 'check.completed.v1/3/42', clock.now())) !== 'claimed') return;
 */
export function makeDeliveries(redis: Redis): Deliveries {
  const claim = makeBatchedScript<ClaimOutcome>(redis, CLAIM);
  const saveAndClaim = makeBatchedScript<[ClaimOutcome, string | null]>(redis, SAVE_AND_CLAIM);
  const releaseClaim = makeBatchedScript<number>(redis, RELEASE_CLAIM);
  const record = makeBatchedScript<number>(redis, RECORD);

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
    return idsSince(
      await redis.zrevrange(listKey(clientId), from, from + countMax - 1, 'WITHSCORES'),
      sinceMs,
    );
  };

  return {
    claim: (delivery, position, redisNowMs, body = '') =>
      claim(keysOf(delivery), [...claimArguments(delivery, position, redisNowMs, body), body]),
    async saveAndClaim(delivery, saving, position, redisNowMs) {
      const [outcome, stored] = await saveAndClaim(
        // The first key of a saving is the last one of a claim.
        [...keysOf(delivery), ...savingKeysOf(saving).slice(1)],
        [...claimArguments(delivery, position, redisNowMs), ...savingArgumentsOf(saving)],
      );
      return { outcome, resultJson: stored ?? saving.resultJson };
    },
    async releaseClaim(delivery, position, nextAttemptAt, redisNowMs) {
      const { requestId, resendCount, attemptCount } = delivery;
      const keys = [GENERATION_KEY, deliveryKey(requestId), resultKey(requestId)];
      const step = [resendCount, attemptCount, position, nextAttemptAt];
      await releaseClaim(keys, [ORDINARY_ACCESS, ...step, keepBodyUntil(delivery, redisNowMs) ?? '']);
    },
    async record(attempted, access = ORDINARY_ACCESS) {
      await record(keysOf(attempted), recordArguments(attempted, access));
    },
    read: (requestId) =>
      inStore(async () => {
        await requireView(redis);
        return (await readMany([requestId]))[0];
      }),
    readMany: (requestIds) =>
      inStore(async () => {
        await requireView(redis);
        return readMany(requestIds);
      }),
    listIds: (clientId, options) =>
      inStore(async () => {
        await requireView(redis);
        return listIds(clientId, options);
      }, LISTING_TIMEOUT_MS),
    page: (clientId, { state, sinceMs, before, countMax }) =>
      inStore(async () => {
        await requireView(redis);
        const found: DeliveryView[] = [];
        const chunk = Math.max(countMax, PAGE_CHUNK_MIN);
        let last = before;
        for (let scanned = 0; scanned < SCANNED_MAX; scanned += chunk) {
          const ids = await listIds(clientId, { sinceMs, before: last, countMax: chunk });
          for (const view of await readMany(ids)) {
            if (state !== undefined && view.state !== state) continue;
            found.push(view);
            if (found.length === countMax) return { deliveries: found, next: view.requestId };
          }
          if (ids.length < chunk) return { deliveries: found, next: undefined };
          last = ids.at(-1);
        }
        return { deliveries: found, next: last };
      }, LISTING_TIMEOUT_MS),
    failedSince: (clientId, sinceMs, untilMs) =>
      inStore(async () => {
        await requireView(redis);
        return redis.zrangebyscore(failedKey(clientId), sinceMs, untilMs ?? '+inf', 'LIMIT', 0, FAILED_MAX);
      }),
    oldestUndeliveredAt: (nowMs) =>
      inStore(async () => {
        await redis.zremrangebyscore(UNDELIVERED_KEY, '-inf', `${nowMs - UNDELIVERED_AGE_MS_MAX}`);
        const [oldest] = await redis.zrange(UNDELIVERED_KEY, '0', '0');
        const score = oldest === undefined ? null : await redis.zscore(UNDELIVERED_KEY, oldest);
        return score === null ? undefined : Number(score);
      }),
  };
}

/** As the scripts expect them: marker, delivery, list, failed, undelivered, the stored body. */
const keysOf = ({ requestId, clientId }: Pick<WebhookRetry, 'requestId' | 'clientId'>) => [
  GENERATION_KEY,
  deliveryKey(requestId),
  listKey(clientId),
  failedKey(clientId),
  UNDELIVERED_KEY,
  resultKey(requestId),
];

/** The members with at least a score, out of alternating members and scores. */
const idsSince = (flat: readonly string[], sinceMs: number): string[] =>
  flat.filter((_, i) => i % 2 === 0 && Number(flat[i + 1]) >= sinceMs);

/** @param body a new body is stored also if its retention is long enough */
const claimArguments = (delivery: WebhookRetry, position: string, redisNowMs: number, body = '') => [
  ORDINARY_ACCESS,
  delivery.requestId,
  delivery.resendCount,
  delivery.attemptCount,
  position,
  delivery.clientId,
  delivery.callbackUrl,
  delivery.acceptedAt,
  delivery.retainUntil,
  Date.parse(delivery.acceptedAt),
  redisNowMs,
  Math.max(Date.parse(delivery.retainUntil), redisNowMs + DELIVERY_KEPT_MS),
  delivery.deferralCount,
  keepBodyUntil(delivery, redisNowMs) ?? (body === '' ? '' : Date.parse(delivery.retainUntil)),
];

function recordArguments(attempted: WebhookAttempted, access: ViewAccess) {
  const atMs = Date.parse(attempted.at);
  const keptUntil = keepBodyUntil(attempted, atMs);
  const bodyEndsAt =
    attempted.state === 'pending' ? keptUntil : keptUntil && Date.parse(attempted.retainUntil);
  return [
    access,
    attempted.requestId,
    attempted.resendCount,
    attempted.attempt ?? '',
    attempted.state,
    attempted.attempt === undefined ? '' : JSON.stringify(attemptLineOf(attempted)),
    attempted.nextAttemptAt ?? '',
    attempted.clientId,
    attempted.callbackUrl,
    attempted.retainUntil,
    atMs,
    deliveryEndsAt(attempted),
    bodyEndsAt ?? '',
  ];
}

/** Until when a delivery is shown, epoch ms: as long as its result, and at least 72 h, so that it can be resent. */
export const deliveryEndsAt = ({ retainUntil, at }: Pick<WebhookAttempted, 'retainUntil' | 'at'>): number =>
  Math.max(Date.parse(retainUntil), Date.parse(at) + DELIVERY_KEPT_MS);

async function requireView(redis: Redis): Promise<void> {
  if ((await redis.exists(GENERATION_KEY)) === 0)
    throw new ServiceError('view-rebuilding', 'the views are being rebuilt');
}
