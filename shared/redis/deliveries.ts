import type { WebhookAttempted, WebhookRetry, WebhookState } from '#shared/contracts/webhook.ts';
import { ServiceError } from '#shared/errors.ts';
import { makeBatchedScript } from './batched-script.ts';
import { inStore, LISTING_TIMEOUT_MS, type Redis } from './connect.ts';
import { CLAIM, FAILED_MAX, FREE_STEP, LISTED_MAX, PUT_ASIDE, RECORD, TAKE_UP } from './delivery-scripts.ts';
import { attemptLineOf, type DeliveryView, parseDelivery } from './delivery-view.ts';
import { type SaveResult, savingArgumentsOf, savingKeysOf } from './results.ts';
import { EVERYDAY, GENERATION_KEY, type ViewAccess } from './view.ts';

const deliveryKey = (requestId: string) => `webhook:${requestId}`;
const listKey = (clientId: string) => `webhooks:${clientId}`;
const failedKey = (clientId: string) => `webhooks-failed:${clientId}`;
const UNDELIVERED_KEY = 'webhooks-undelivered';

/** A delivery is kept until its result expires, and this long after its last change at the least. */
const KEEP_MS = 72 * 3_600_000;
/** Longer than a delivery can be under way: its record has left Kafka. */
const UNDELIVERED_AGE_MS_MAX = 8 * 86_400_000;
/** Most deliveries looked at for one page. */
const LOOKED_MAX = 1_000;
const PAGE_CHUNK_MIN = 50;
const READ_CHUNK = 500;

/** What may be done with a record: work it, or drop it because another one has this step or a later one. */
export type ClaimOutcome = 'claimed' | 'taken' | 'superseded' | 'finished';

export type PageOptions = {
  readonly state?: WebhookState | undefined;
  /** First taken up then or later, epoch ms. */
  readonly sinceMs?: number | undefined;
  /** The `next` of the page before. */
  readonly before?: string | undefined;
  readonly countMax: number;
};

export type DeliveryPage = {
  readonly deliveries: readonly DeliveryView[];
  /** Where there may be more. */
  readonly next: string | undefined;
};

/** The view of deliveries: the dispatcher writes it, admin and portal read it, a rebuild applies the attempt log. */
export type Deliveries = {
  /**
   * Takes up the step that `delivery` stands at for the Kafka record at `place` (`topic/partition/offset`).
   * The same record may claim again; a second record at the same step is told `taken`.
   */
  readonly claim: (delivery: WebhookRetry, place: string, nowMs: number) => Promise<ClaimOutcome>;
  /**
   * Saves a result unless there is one and claims its delivery, in one step; the bytes that are stored are the ones
   * to deliver. The result is saved whatever the claim's outcome.
   */
  readonly takeUp: (
    delivery: WebhookRetry,
    saving: SaveResult,
    place: string,
    nowMs: number,
  ) => Promise<{ readonly outcome: ClaimOutcome; readonly resultJson: string }>;
  /** Gives the step back, before the record that will take it up again is published. */
  readonly putAside: (delivery: WebhookRetry, place: string, nextAttemptAt: string) => Promise<void>;
  /** Lets the record at `place` take its step up, for a rebuilder: that the step was given back may be lost. */
  readonly freeStep: (delivery: WebhookRetry, place: string, access: ViewAccess) => Promise<void>;
  /** Applies a record of the attempt log. Idempotent; a rebuilder passes its lock's token as `access`. */
  readonly record: (attempted: WebhookAttempted, access?: ViewAccess) => Promise<void>;
  readonly read: (requestId: string) => Promise<DeliveryView | undefined>;
  /** A client app's deliveries, newest first; at most 10 000 are looked at. */
  readonly list: (
    clientId: string,
    options: { state?: WebhookState | undefined; countMax: number },
  ) => Promise<DeliveryView[]>;
  /**
   * One page of a client app's deliveries, newest first. At most 1 000 are looked at for one page, so a page may hold
   * fewer than asked for although `next` says that there are more.
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
  const claim = makeBatchedScript<ClaimOutcome>(redis, 'claimDeliveries', CLAIM);
  const takeUp = makeBatchedScript<[ClaimOutcome, string | null]>(redis, 'takeUpDeliveries', TAKE_UP);
  const putAside = makeBatchedScript<number>(redis, 'putDeliveriesAside', PUT_ASIDE);
  const freeStep = makeBatchedScript<number>(redis, 'freeSteps', FREE_STEP);
  const record = makeBatchedScript<number>(redis, 'recordDeliveries', RECORD);

  const readMany = async (requestIds: readonly string[]): Promise<DeliveryView[]> => {
    const views = await Promise.all(
      requestIds.map(async (requestId) =>
        parseDelivery(requestId, await redis.hgetall(deliveryKey(requestId))),
      ),
    );
    return views.filter((view) => view !== undefined);
  };

  return {
    claim: (delivery, place, nowMs) => claim(keysOf(delivery), claimArguments(delivery, place, nowMs)),
    async takeUp(delivery, saving, place, nowMs) {
      const [outcome, stored] = await takeUp(
        [...keysOf(delivery), ...savingKeysOf(saving)],
        [...claimArguments(delivery, place, nowMs), ...savingArgumentsOf(saving)],
      );
      return { outcome, resultJson: stored ?? saving.resultJson };
    },
    async putAside({ requestId, resendCount, attemptCount }, place, nextAttemptAt) {
      const keys = [GENERATION_KEY, deliveryKey(requestId)];
      await putAside(keys, [EVERYDAY, resendCount, attemptCount, place, nextAttemptAt]);
    },
    async freeStep({ requestId, resendCount, attemptCount }, place, access) {
      await freeStep([GENERATION_KEY, deliveryKey(requestId)], [access, resendCount, attemptCount, place]);
    },
    async record(attempted, access = EVERYDAY) {
      await record(keysOf(attempted), recordArguments(attempted, access));
    },
    read: (requestId) =>
      inStore(async () => {
        await requireView(redis);
        return (await readMany([requestId]))[0];
      }),
    list: (clientId, { state, countMax }) =>
      inStore(async () => {
        await requireView(redis);
        const ids = await redis.zrevrange(listKey(clientId), 0, LISTED_MAX - 1);
        const found: DeliveryView[] = [];
        for (let i = 0; i < ids.length && found.length < countMax; i += READ_CHUNK) {
          const views = await readMany(ids.slice(i, i + READ_CHUNK));
          found.push(...views.filter((view) => state === undefined || view.state === state));
        }
        return found.slice(0, countMax);
      }, LISTING_TIMEOUT_MS),
    page: (clientId, { state, sinceMs = 0, before, countMax }) =>
      inStore(async () => {
        await requireView(redis);
        const beforeRank = before === undefined ? -1 : await redis.zrevrank(listKey(clientId), before);
        // Whoever has left the list stood at its end.
        if (beforeRank === null) return { deliveries: [], next: undefined };
        const found: DeliveryView[] = [];
        const chunk = Math.max(countMax, PAGE_CHUNK_MIN);
        let last: string | undefined;
        for (let looked = 0; looked < LOOKED_MAX; looked += chunk) {
          const from = beforeRank + 1 + looked;
          const flat = await redis.zrevrange(listKey(clientId), from, from + chunk - 1, 'WITHSCORES');
          const recent = idsSince(flat, sinceMs);
          for (const view of await readMany(recent)) {
            last = view.requestId;
            if (state !== undefined && view.state !== state) continue;
            found.push(view);
            if (found.length === countMax) return { deliveries: found, next: last };
          }
          if (recent.length < chunk) return { deliveries: found, next: undefined };
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

/** As the scripts expect them: marker, delivery, list, failed, undelivered. */
const keysOf = ({ requestId, clientId }: Pick<WebhookRetry, 'requestId' | 'clientId'>) => [
  GENERATION_KEY,
  deliveryKey(requestId),
  listKey(clientId),
  failedKey(clientId),
  UNDELIVERED_KEY,
];

/** Of members and scores in turn, the members down to a score. */
const idsSince = (flat: readonly string[], sinceMs: number): string[] =>
  flat.filter((_, i) => i % 2 === 0 && Number(flat[i + 1]) >= sinceMs);

const claimArguments = (delivery: WebhookRetry, place: string, nowMs: number) => [
  EVERYDAY,
  delivery.requestId,
  delivery.resendCount,
  delivery.attemptCount,
  place,
  delivery.clientId,
  delivery.callbackUrl,
  delivery.acceptedAt,
  delivery.retainUntil,
  Date.parse(delivery.acceptedAt),
  nowMs,
  Math.max(Date.parse(delivery.retainUntil), nowMs + KEEP_MS),
];

function recordArguments(attempted: WebhookAttempted, access: ViewAccess) {
  const atMs = Date.parse(attempted.at);
  return [
    access,
    attempted.requestId,
    attempted.resendCount,
    attempted.attempt ?? '',
    attempted.state,
    attempted.attempt === undefined ? '' : JSON.stringify(attemptLineOf(attempted)),
    attempted.responseBody ?? '',
    attempted.nextAttemptAt ?? '',
    attempted.clientId,
    attempted.callbackUrl,
    attempted.retainUntil,
    atMs,
    deliveryEndsAt(attempted),
  ];
}

/** How long a delivery is shown: as its result, and 72 h at least, so that a resend can be asked for. Epoch ms. */
export const deliveryEndsAt = ({ retainUntil, at }: Pick<WebhookAttempted, 'retainUntil' | 'at'>): number =>
  Math.max(Date.parse(retainUntil), Date.parse(at) + KEEP_MS);

async function requireView(redis: Redis): Promise<void> {
  if ((await redis.exists(GENERATION_KEY)) === 0)
    throw new ServiceError('view-rebuilding', 'the views are being rebuilt');
}
