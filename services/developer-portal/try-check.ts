import { hashApiKey } from '#shared/contracts/api-key.ts';
import type { ChainFile } from '#shared/contracts/chain-file.ts';
import { CHECK_PATH } from '#shared/contracts/paths.ts';
import type { Handlers } from './call.ts';
import type { Demo } from './config.ts';
import type { ReadOwn } from './handle-apps.ts';
import { invalid, Problem } from './problem.ts';

/** Longer than the longest deadline of a sync check. */
const TIMEOUT_MS = 30_000;
const ANSWER_BYTES_MAX = 1024 * 1024;
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

export type Dependencies = {
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
 * Sends a check to the gateway with a developer's own key, which is not stored, and returns the response. The gateway
 * treats a repetition with the same idempotency key as the same check and charges it once.
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
}: Dependencies): Handlers<'tryCheck' | 'readTryOptions'> {
  const options = {
    // RPC endpoints are not exposed.
    chains: chains.map(({ chainId, name, nativeSymbol }) => ({ chainId, name, nativeSymbol })),
    gatewayUrl: publicUrl,
    ...(demo && { demo }),
  };
  return {
    readTryOptions: async () => options,
    async tryCheck({ account, param, idempotencyKey, body: { apiKey, check } }) {
      const { keys } = await readOwn(account, param('clientId'));
      const hash = hashApiKey(apiKey);
      if (!keys.some((key) => key.hash === hash))
        throw invalid([{ pointer: '/apiKey', code: 'not-of-app', detail: 'This is not a key of this app.' }]);
      const json = JSON.stringify(check);
      const began = performance.now();
      const { status, headers, text } = await send(fetch, `${gatewayUrl}${CHECK_PATH}`, json, {
        'x-api-key': apiKey,
        'idempotency-key': idempotencyKey,
      });
      return {
        status,
        headers: Object.fromEntries([...headers].filter(([name]) => SHOWN_HEADERS.has(name))),
        body: parseIfJson(text),
        durationMs: Math.round((performance.now() - began) * 10) / 10,
        curl: curlOf(`${publicUrl}${CHECK_PATH}`, json),
      };
    },
  };
}

async function send(
  fetch: typeof globalThis.fetch,
  url: string,
  body: string,
  headers: Readonly<Record<string, string>>,
) {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, headers: response.headers, text: await readBounded(response) };
  } catch (error) {
    if (error instanceof Problem) throw error;
    // The error's own message may name internal addresses.
    throw new Problem('gateway-unavailable', 'No whole answer came within 30 s.');
  }
}

async function readBounded(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > ANSWER_BYTES_MAX)
      throw new Problem('gateway-unavailable', 'The answer is too long to be shown.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** In a shell's single quotes nothing is special but their end. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const curlOf = (url: string, json: string): string =>
  [
    `curl -s ${quoted(url)}`,
    `-H "x-api-key: $ROLECALL_API_KEY"`,
    `-H 'content-type: application/json'`,
    `-d ${quoted(json)}`,
  ].join(' ');
