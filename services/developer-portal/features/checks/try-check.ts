import { CHECK_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import { curlOfCheck, curlOfPoll } from '../../domain/curl-of-check.ts';
import {
  askGateway,
  type GatewayAnswer,
  type GatewayRequest,
  requireOwnKey,
} from '../../http/ask-gateway.ts';
import type { Handlers } from '../../http/call.ts';

/** Longer than the longest deadline of a sync check. */
const TIMEOUT_MS = 30_000;
/** How long the gateway may hold a poll open: short of the time that a person waits without a
 * sign. */
const POLL_WAIT_S = 5;
/** The response headers that are shown: those that the API documents. */
const SHOWN_HEADERS = new Set([
  'content-type',
  'retry-after',
  'ratelimit',
  'ratelimit-policy',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'rolecall-version',
  'rolecall-accepted-at',
  'www-authenticate',
]);

/**
 * Sends a check, or a poll for its result, to the gateway with a developer's own key, which is not
 * stored, and returns the response. The gateway treats a repetition of a check with the same
 * idempotency key as the same check and charges it once.
 *
 * @throws Problem `gateway-unavailable` if no complete answer came within 30 s; `validation-failed`
 *   for a key that is not one of the app's
 */
export function makeTryHandlers({
  fetch,
  chains,
  config,
}: Dependencies): Handlers<'tryCheck' | 'pollTried' | 'readTryOptions'> {
  const { url: gatewayUrl, publicUrl } = config.gateway;
  const options = {
    // RPC endpoints are not exposed.
    chains: chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
    gatewayUrl: publicUrl,
    ...(config.demo && { demo: config.demo }),
  };
  const send = async (path: string, request: Pick<GatewayRequest, 'apiKey' | 'post' | 'waitS'>) => {
    const began = performance.now();
    const url = `${gatewayUrl}${path}`;
    const answer = await askGateway(fetch, { ...request, url, timeoutMs: TIMEOUT_MS });
    return { ...presentAnswer(answer), durationMs: Math.round((performance.now() - began) * 10) / 10 };
  };
  return {
    readTryOptions: async () => options,
    async tryCheck({ app, idempotencyKey, body: { apiKey, check } }) {
      requireOwnKey(app, apiKey);
      const body = JSON.stringify(check);
      const post = { idempotencyKey, contentType: 'application/json', body };
      return {
        ...(await send(CHECK_PATH, { apiKey, post })),
        curl: curlOfCheck(`${publicUrl}${CHECK_PATH}`, body),
      };
    },
    async pollTried({ app, param, body: { apiKey } }) {
      requireOwnKey(app, apiKey);
      const requestId = param('requestId');
      // Dots alone would lead to another path.
      if (!/[^.]/.test(requestId)) throw new Problem('not-found', 'There is no such request.');
      const path = `${RESPONSES_PATH}${requestId}`;
      return {
        ...(await send(path, { apiKey, waitS: POLL_WAIT_S })),
        curl: curlOfPoll(`${publicUrl}${path}`),
      };
    },
  };
}

const presentAnswer = ({ status, headers, body }: GatewayAnswer) => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => SHOWN_HEADERS.has(name))),
  body,
});
