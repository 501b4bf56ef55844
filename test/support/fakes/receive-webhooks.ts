import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { waitUntil } from '../wait-until.ts';
import { serveOnLoopback } from './serve-on-loopback.ts';

/** One request as the receiver saw it. */
export type ReceivedWebhook = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The raw body. */
  readonly body: string;
  /** `msg_…`: the same on every attempt. */
  readonly id: string;
  readonly requestId: string;
  readonly attempt: number;
  /** Epoch ms by this process's clock. */
  readonly atMs: number;
  /** Whether a stock library verifies `webhook-signature` and `x-service-signature`; absent without
   * a secret. */
  readonly verified?: boolean;
  /** The status of the answer; absent before the answer, and if a handler answers by itself. */
  readonly status?: number;
};

/** The receiver's answer to a request: a status, or a handler that answers, or never answers, by
 * itself. */
export type Answer =
  | number
  | ((
      webhook: ReceivedWebhook,
      response: ServerResponse,
      place: number,
    ) => number | undefined | Promise<number | undefined>);

export type WebhookReceiver = AsyncDisposable & {
  /** The URL to send to; any path below it is received too. */
  readonly url: string;
  /** In order of arrival. */
  readonly deliveries: readonly ReceivedWebhook[];
  /** Waits for the first delivery that matches. */
  readonly waitFor: (
    matches: (webhook: ReceivedWebhook) => boolean,
    timeoutMs?: number,
  ) => Promise<ReceivedWebhook>;
  readonly setAnswer: (answer: Answer) => void;
};

type Options = {
  /** `whsec_…`. Without it signatures are not verified. */
  readonly secret?: string | undefined;
  /** Default 204. */
  readonly answer?: Answer;
  /** The address where it listens; default loopback. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
};

/**
 * Starts a webhook receiver on loopback that keeps everything it gets and verifies it with a stock
 * Standard Webhooks library.
 *
 * @example
 * await using receiver = await receiveWebhooks({ secret });
 * const webhook = await receiver.waitFor(({ requestId }) => requestId === id);
 */
export async function receiveWebhooks(options: Options = {}): Promise<WebhookReceiver> {
  const deliveries: ReceivedWebhook[] = [];
  let answer: Answer = options.answer ?? 204;
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const webhook = receivedOf(request.url ?? '/', request.headers, body, options.secret);
      deliveries.push(webhook);
      void respond(answer, webhook, response, deliveries.length);
    });
  };
  const { port, host } = options;
  const server = await serveOnLoopback(listener, { port, host, keepAliveMs: 30_000 });
  return {
    url: `${server.url}/hook`,
    deliveries,
    waitFor: (matches, timeoutMs) => waitUntil('a webhook', () => deliveries.find(matches), timeoutMs),
    setAnswer: (next) => {
      answer = next;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function respond(
  answer: Answer,
  webhook: ReceivedWebhook & { status?: number },
  response: ServerResponse,
  place: number,
) {
  response.on('error', () => undefined);
  const status = typeof answer === 'number' ? answer : await answer(webhook, response, place);
  if (status === undefined) return;
  webhook.status = status;
  response.writeHead(status).end();
}

function receivedOf(
  path: string,
  headers: IncomingHttpHeaders,
  body: string,
  secret: string | undefined,
): ReceivedWebhook {
  const id = String(headers['webhook-id']);
  return {
    path,
    headers,
    body,
    id,
    requestId: id.replace(/^msg_/, ''),
    attempt: Number(headers['webhook-attempt']),
    atMs: Date.now(),
    ...(secret === undefined ? {} : { verified: isVerified(headers, body, secret) }),
  };
}

function isVerified(headers: IncomingHttpHeaders, body: string, secret: string): boolean {
  const webhook = new Webhook(secret);
  const named = (signature: string | string[] | undefined) => ({
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(signature),
  });
  try {
    webhook.verify(body, named(headers['webhook-signature']), { jsonParse: false });
    webhook.verify(body, named(headers['x-service-signature']), { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}
