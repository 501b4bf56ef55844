import { hashApiKey } from '#shared/contracts/apps/api-key.ts';
import type { ClientApp } from '#shared/contracts/apps/client-app.ts';
import { Problem, validationFailed } from '#shared/http/problem.ts';

const ANSWER_BYTES_MAX = 1024 * 1024;

/** A request that is sent to the gateway with a developer's own key. */
export type GatewayRequest = {
  readonly url: string;
  readonly apiKey: string;
  /** Absent for a GET. */
  readonly post?: {
    readonly idempotencyKey: string;
    readonly contentType: string;
    /** As a whole, or piece by piece as it arrives. */
    readonly body: string | AsyncIterable<Buffer>;
  };
  /** How long the gateway may hold a GET open, in seconds. */
  readonly waitS?: number;
  readonly timeoutMs: number;
};

/**
 * Sends a request to the gateway, which treats a repetition with the same idempotency key as the
 * same request.
 *
 * @returns the body as JSON where it is JSON, else as text
 * @throws Problem `gateway-unavailable` if no complete answer came in time, and errors of the body
 */
export async function askGateway(
  fetch: typeof globalThis.fetch,
  { url, apiKey, post, waitS, timeoutMs }: GatewayRequest,
) {
  try {
    const response = await fetch(url, {
      method: post ? 'POST' : 'GET',
      headers: {
        'x-api-key': apiKey,
        ...(post && { 'content-type': post.contentType, 'idempotency-key': post.idempotencyKey }),
        ...(waitS !== undefined && { prefer: `wait=${waitS}` }),
      },
      // Node's fetch sends the chunks of an iterable, and waits while the gateway takes no more.
      ...(post && { body: post.body as NonNullable<RequestInit['body']> }),
      ...(post && typeof post.body !== 'string' && { duplex: 'half' }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return {
      status: response.status,
      headers: response.headers,
      body: parseIfJson(await readBounded(response)),
    };
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { cause } = error as Error;
    if (cause instanceof Problem) throw cause;
    // The error's own message may name internal addresses.
    throw new Problem(
      'gateway-unavailable',
      `The gateway sent no complete answer within ${timeoutMs / 1_000} s.`,
    );
  }
}

/** @throws Problem `validation-failed` for a key that is not one of the app's */
export function requireOwnKey({ keys }: Pick<ClientApp, 'keys'>, apiKey: string): void {
  const hash = hashApiKey(apiKey);
  if (!keys.some((key) => key.hash === hash))
    throw validationFailed([
      { pointer: '/apiKey', code: 'not-of-app', detail: 'This is not a key of this app.' },
    ]);
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
