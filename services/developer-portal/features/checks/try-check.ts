import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { CHECK_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { Problem } from '#shared/http/problem.ts';
import type { Demo } from '../../config.ts';
import { curlOfCheck, curlOfPoll } from '../../domain/curl-of-check.ts';
import {
  askGateway,
  type GatewayAnswer,
  type GatewayRequest,
  requireOwnKey,
} from '../../http/ask-gateway.ts';
import type { Handlers } from '../../http/call.ts';
import type { ReadOwn } from '../apps/app-access.ts';

/** Longer than the longest deadline of a sync check. */
const TIMEOUT_MS = 30_000;
/** How long the gateway may hold a poll open: short of the time that a person waits without a sign. */
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

type Dependencies = {
  readonly readOwn: ReadOwn;
  /** Where this process reaches the gateway. */
  readonly gatewayUrl: string;
  /** Where developers reach it. */
  readonly publicUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly chains: ChainFile['chains'];
  readonly demo: Demo | undefined;
};

/**
 * Sends a check, or a poll for its result, to the gateway with a developer's own key, which is not stored, and returns
 * the response. The gateway treats a repetition of a check with the same idempotency key as the same check and charges
 * it once.
 *
 * @throws Problem `gateway-unavailable` if no complete answer came within 30 s; `validation-failed` for a key that is
 *   not one of the app's
 */
export function makeTryHandlers({
  readOwn,
  gatewayUrl,
  publicUrl,
  fetch,
  chains,
  demo,
}: Dependencies): Handlers<'tryCheck' | 'pollTried' | 'readTryOptions'> {
  const options = {
    // RPC endpoints are not exposed.
    chains: chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
    gatewayUrl: publicUrl,
    ...(demo && { demo }),
  };
  const send = async (path: string, request: Pick<GatewayRequest, 'apiKey' | 'post' | 'waitS'>) => {
    const began = performance.now();
    const url = `${gatewayUrl}${path}`;
    const answer = await askGateway(fetch, { ...request, url, timeoutMs: TIMEOUT_MS });
    return { ...presentAnswer(answer), durationMs: Math.round((performance.now() - began) * 10) / 10 };
  };
  return {
    readTryOptions: async () => options,
    async tryCheck({ account, param, idempotencyKey, body: { apiKey, check } }) {
      requireOwnKey(await readOwn(account, param('clientId')), apiKey);
      const body = JSON.stringify(check);
      const post = { idempotencyKey, contentType: 'application/json', body };
      return {
        ...(await send(CHECK_PATH, { apiKey, post })),
        curl: curlOfCheck(`${publicUrl}${CHECK_PATH}`, body),
      };
    },
    async pollTried({ account, param, body: { apiKey } }) {
      requireOwnKey(await readOwn(account, param('clientId')), apiKey);
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
