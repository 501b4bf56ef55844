import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { RolecallError } from '#shared/client/http/rolecall-error.ts';
import { signInMessage } from '#shared/client/sign-in/sign-in-message.ts';
import { type LoggedCheck, roleTagOf } from '#shared/contracts/checks/check-log.ts';
import { BATCH_PATH, CHECK_PATH, NONCES_PATH, RESPONSES_PATH } from '#shared/contracts/paths.ts';
import { ServiceError } from '#shared/errors.ts';
import { invalidBody, Problem } from '#shared/http/problem.ts';
import type { Dependencies } from '../../dependencies.ts';
import { bodyOfCheck, curlOfCheck, curlOfPoll, stepsOfCheck } from '../../domain/describe-check.ts';
import { askGateway, type GatewayRequest, requireOwnKey } from '../../http/ask-gateway.ts';
import type { Handlers } from '../../http/operations.ts';
import { existing } from '../basis.ts';
import type { CHECK_OPERATIONS, ChecksQuery } from './check-operations.ts';

/** Longer than the longest deadline of a sync check. */
const TIMEOUT_MS = 30_000;
/** Longer than the gateway takes to read the members of a watch, and the broker their parts. */
const BATCH_TIMEOUT_MS = 120_000;
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
 * The log of an app's checks, and checks that a developer tries: they are sent to the gateway with
 * the developer's own key, which is not stored. The gateway treats a repetition of a check with the
 * same idempotency key as the same check and charges it once.
 *
 * @throws Problem `gateway-unavailable` if no complete answer came within 30 s; `validation-failed`
 *   for a key that is not one of the app's
 */
export function makeCheckHandlers(deps: Dependencies): Handlers<keyof typeof CHECK_OPERATIONS> {
  const { checkLog, results, deliveries, readSentCheck, chains, chainStates, config } = deps;
  const findOwn = async (clientId: string, requestId: string) =>
    existing(
      await checkLog.find(clientId, requestId),
      'this check is not among the newest checks of the app',
    );
  const { url: gatewayUrl, publicUrl } = config.gateway;
  const chainIds = chains.map(({ chainId }) => chainId);
  const send = async (
    path: string,
    request: Pick<GatewayRequest, 'apiKey' | 'post' | 'waitS'>,
    timeoutMs = TIMEOUT_MS,
  ) => {
    const began = performance.now();
    const url = `${gatewayUrl}${path}`;
    const { status, headers, body } = await askGateway(deps.fetch, { ...request, url, timeoutMs });
    return {
      status,
      headers: Object.fromEntries([...headers].filter(([name]) => SHOWN_HEADERS.has(name))),
      body,
      durationMs: Math.round((performance.now() - began) * 10) / 10,
    };
  };
  return {
    async listChecks({ app: { clientId }, query }) {
      const found = (await checkLog.list(clientId)).filter((check) => isWanted(check, query));
      const from = found.findIndex(({ requestId }) => requestId === query.after) + 1;
      const page = found.slice(from, from + query.limit);
      const last = page.at(-1);
      return {
        checks: page.map(presentCheck),
        ...(last && from + page.length < found.length && { next: last.requestId }),
      };
    },
    async readCheck({ app: { clientId }, param }) {
      const wanted = param('requestId');
      const check = await findOwn(clientId, wanted);
      const [resultJson, delivery] = await Promise.all([results.read(wanted), deliveries.read(wanted)]);
      return {
        ...presentCheck(check),
        steps: stepsOfCheck(check, delivery),
        ...(resultJson !== undefined && { result: JSON.parse(resultJson) as Record<string, unknown> }),
        delivery,
      };
    },
    async readCheckRequest({ account, app: { clientId }, param }) {
      const check = await findOwn(clientId, param('requestId'));
      const sent = await readSentCheck(clientId, check, account.accountId);
      const body = bodyOfCheck(existing(sent, GONE));
      return { body, curl: curlOfCheck(publicUrl + CHECK_PATH, JSON.stringify(body)) };
    },
    async readTryOptions() {
      const states = await chainStates.read(chainIds);
      return {
        // RPC endpoints are not exposed.
        chains: chains.map(({ chainId, name, nativeSymbol }) => {
          return { chainId, name, nativeSymbol, ...(states.get(chainId) ?? { state: 'unknown' as const }) };
        }),
        gatewayUrl: publicUrl,
        ...(config.demo && chainIds.includes(config.demo.chainId) && { demo: config.demo }),
      };
    },
    async tryCheck({ app, idempotencyKey, body: { apiKey, check, isBatch } }) {
      requireOwnKey(app, apiKey);
      const path = isBatch ? BATCH_PATH : CHECK_PATH;
      const body = JSON.stringify(check);
      const post = { idempotencyKey, contentType: 'application/json', body };
      return {
        ...(await send(path, { apiKey, post }, isBatch ? BATCH_TIMEOUT_MS : TIMEOUT_MS)),
        curl: curlOfCheck(publicUrl + path, body),
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
    async composeSignIn({ app, body: { apiKey, account, domain, chainId } }) {
      requireOwnKey(app, apiKey);
      const compose = (nonce: string) =>
        signInMessage({ domain, address: account, uri: `https://${domain}`, chainId, nonce });
      requireFit(() => compose('0'.repeat(16)));
      const post = { idempotencyKey: randomUUID(), contentType: 'application/json', body: '{}' };
      const { status, body } = await send(NONCES_PATH, { apiKey, post });
      const issued = Issued.safeParse(body).data;
      if (status !== 201 || !issued)
        throw new ServiceError('conflict', `the gateway issues no nonce: ${Refused.parse(body).detail}`);
      return { message: compose(issued.nonce), expiresAt: issued.expiresAt };
    },
  };
}

const GONE = 'the request of this check is no longer kept: requests are kept for 7 days';

type Filters = Omit<z.output<typeof ChecksQuery>, 'after' | 'limit'>;

function isWanted(check: LoggedCheck, filters: Filters): boolean {
  const { requestId, mode, status, outcome, code, roleId, keyId, since } = filters;
  return (
    (requestId === undefined || check.requestId === requestId) &&
    (mode === undefined || check.mode === mode) &&
    (status === undefined || check.status === status) &&
    (outcome === undefined || check[outcome] > 0) &&
    (code === undefined || check.codes.includes(code)) &&
    (roleId === undefined || check.roleTags.includes(roleTagOf(roleId))) &&
    (keyId === undefined || check.keyId === keyId) &&
    (since === undefined || check.acceptedAtMs >= Date.parse(since))
  );
}

const presentCheck = (check: LoggedCheck) => ({
  ...check,
  acceptedAt: new Date(check.acceptedAtMs).toISOString(),
});

const Issued = z.object({ nonce: z.string(), expiresAt: z.string() });
const Refused = z.object({ detail: z.string() }).catch({ detail: 'it does not say why' });

/** @throws Problem `validation-failed` for fields that no message can have */
function requireFit(compose: () => string): void {
  try {
    compose();
  } catch (error) {
    if (!(error instanceof RolecallError)) throw error;
    const detail = error.detail.replace('signInMessage: ', '');
    const pointer = detail.startsWith('domain') ? '/domain' : '/account';
    throw invalidBody([{ pointer, code: 'malformed', detail }]);
  }
}
