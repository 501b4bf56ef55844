import type { NewWebhook, WebhookState } from '#shared/contracts/webhooks/webhook.ts';
import { makeBatchedScript } from '#shared/redis/batched-script.ts';
import { inStore, type Redis } from '#shared/redis/connect.ts';
import { REQUIRE_RESULTS, REQUIRE_VIEW, viewCommand } from '#shared/redis/script.ts';
import { BODY_KEPT_MS, resultKey } from '../checks/results.ts';
import { DELIVERY_KEPT_MS, deliveryKey, hasFailed, keepBodyUntil, LUA_KEEP_BODY } from './deliveries.ts';

/** KEYS: the stored body. ARGV: keep it until or ''. Answers its bytes. */
const KEEP_BODY = `${REQUIRE_VIEW}${LUA_KEEP_BODY}
keepBody(KEYS[1], ARGV[1])
local bytes = redis.call('STRLEN', KEYS[1])
if bytes > 0 then return bytes end
local acceptedAtMs = 0
${REQUIRE_RESULTS}return 0
`;

/** The first bytes of a body: of an event of a watch, they hold its type and its watch. */
const HEAD_BYTES = 256;

export function makeWebhookBodies(redis: Redis) {
  const keepBody = makeBatchedScript<number>(redis, KEEP_BODY);
  const readState = makeBatchedScript<WebhookState | null>(redis, viewCommand('HGET'));
  return {
    /** The first 256 bytes of a stored body; empty if none is stored. */
    readHead: (requestId: string): Promise<string> =>
      inStore(() => redis.getrange(resultKey(requestId), 0, HEAD_BYTES - 1)),
    /**
     * The bytes of a stored body, 0 if none is stored. One that is stored is kept for a delivery that
     * begins now.
     *
     * @throws ServiceError `view-rebuilding` if a replay may still bring it back
     */
    keep: (about: Pick<NewWebhook, 'requestId' | 'retainUntil'>, redisNowMs: number): Promise<number> =>
      keepBody([resultKey(about.requestId)], [keepBodyUntil(about, redisNowMs) ?? '']),
    /** For a replay that has restored the deliveries: how long a body must be kept from now on
     * because its delivery may be open or resent, in ms. One that ended less than 72 h ago is in the
     * view. */
    async keepMsOf(
      { requestId, acceptedAt }: Pick<NewWebhook, 'requestId' | 'acceptedAt'>,
      redisNowMs: number,
    ): Promise<number> {
      const state = await readState([deliveryKey(requestId)], ['state']);
      if (hasFailed(state)) return DELIVERY_KEPT_MS;
      const isOpen =
        state === null ? Date.parse(acceptedAt) > redisNowMs - DELIVERY_KEPT_MS : state === 'pending';
      return isOpen ? BODY_KEPT_MS : 0;
    },
  };
}

/**
 * The bodies of webhooks, each stored under its request id as the result of a check is. A delivery
 * keeps its body until it is delivered, and a failed one as long as it is shown, however short the
 * retention; what may be polled, the gateway decides by the age of the id.
 */
export type WebhookBodies = ReturnType<typeof makeWebhookBodies>;
