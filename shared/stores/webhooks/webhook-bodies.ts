import type { NewWebhook, WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { GENERATION_KEY, ORDINARY_ACCESS, REQUIRE_VIEW, type ViewAccess } from '#shared/redis/view.ts';
import { resultKey } from '../checks/results.ts';
import { DELIVERY_KEPT_MS, deliveryKey, keepBodyUntil, LUA_KEEP_BODY } from './deliveries.ts';

/** KEYS: marker, the stored body. ARGV: access, body or '', keep it until or ''. Answers the bytes
 * that are stored. */
const KEEP_BODY = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
keepBody(KEYS[2], ARGV[2], ARGV[3])
return redis.call('STRLEN', KEYS[2])
`;

/** KEYS: marker, delivery. ARGV: access. */
const READ_STATE = `${REQUIRE_VIEW}
return redis.call('HGET', KEYS[2], 'state')
`;

/** The first bytes of a body: of an event of a watch, they hold its type and its watch. */
const HEAD_BYTES = 256;

type Body = Pick<NewWebhook, 'requestId' | 'acceptedAt' | 'retainUntil' | 'resultJson'>;

/**
 * @example
 * const bytes = await makeWebhookBodies(redis).keep(delivery, clock.now());
 */
export function makeWebhookBodies(redis: Redis) {
  const keepBody = makeBatchedScript<number>(redis, KEEP_BODY);
  const readState = makeBatchedScript<WebhookState | null>(redis, READ_STATE);
  const store = async ({ requestId, resultJson }: Body, untilMs: number, access: ViewAccess) => {
    await keepBody([GENERATION_KEY, resultKey(requestId)], [access, resultJson, untilMs]);
    return true;
  };
  /** A delivery that ended less than `DELIVERY_KEPT_MS` ago is in the view. */
  const mayBeOpen = async ({ requestId, acceptedAt }: Body, redisNowMs: number, access: ViewAccess) => {
    const state = await readState([GENERATION_KEY, deliveryKey(requestId)], [access]);
    return state === null ? Date.parse(acceptedAt) > redisNowMs - DELIVERY_KEPT_MS : state === 'pending';
  };
  const restoreOpen: (body: Body, redisNowMs: number, access: ViewAccess) => Promise<boolean> = async (
    body,
    redisNowMs,
    access,
  ) => {
    const untilMs = keepBodyUntil(body, redisNowMs);
    if (untilMs === undefined || !(await mayBeOpen(body, redisNowMs, access))) return false;
    return store(body, untilMs, access);
  };
  return {
    /** The first 256 bytes of a stored body; empty if none is stored. */
    readHead: (requestId: string): Promise<string> =>
      inStore(() => redis.getrange(resultKey(requestId), 0, HEAD_BYTES - 1)),
    /** The bytes of a stored body, 0 if none is stored. One that is stored is kept for a delivery
     * that begins now. */
    keep: (about: Pick<Body, 'requestId' | 'retainUntil'>, redisNowMs: number): Promise<number> =>
      keepBody(
        [GENERATION_KEY, resultKey(about.requestId)],
        [ORDINARY_ACCESS, '', keepBodyUntil(about, redisNowMs) ?? ''],
      ),
    /**
     * For a rebuilder that has restored the deliveries: stores a body, or keeps the stored one, if
     * its delivery may be open and may outlast the retention. Otherwise nothing is done.
     *
     * @returns whether it is stored
     */
    restoreOpen,
    /** The same, and also stores a body whose retention has not ended. */
    async restore(body: Body, redisNowMs: number, access: ViewAccess): Promise<boolean> {
      if (await restoreOpen(body, redisNowMs, access)) return true;
      const retainUntilMs = Date.parse(body.retainUntil);
      return retainUntilMs > redisNowMs && store(body, retainUntilMs, access);
    },
  };
}

/**
 * The bodies of webhooks, each stored under its request id as the result of a check is. A delivery
 * keeps its body from its claim until its end, however short the retention; what may be polled, the
 * gateway decides by the age of the id.
 */
export type WebhookBodies = ReturnType<typeof makeWebhookBodies>;
