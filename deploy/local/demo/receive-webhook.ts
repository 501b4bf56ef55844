import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

const BODY_BYTES_MAX = 4 * 1024 * 1024;

type WebhookReceiver = AsyncDisposable & {
  readonly url: string;
  /** The body of the first delivery whose signature verifies; rejects on one whose signature does
   * not. */
  readonly received: Promise<unknown>;
};

/**
 * A receiver like a client's: it verifies the signature by a stock library and answers 204.
 *
 * @example
 * await using receiver = await receiveWebhook('whsec_…');
 * const result = await receiver.received;
 */
export async function receiveWebhook(secret: string): Promise<WebhookReceiver> {
  const { promise: received, resolve, reject } = Promise.withResolvers<unknown>();
  // A later waiter sees the rejection; there may be no waiter yet.
  received.catch(() => {});
  const server = createServer(async (request, response) => {
    try {
      const body = await readBody(request);
      const { 'x-service-signature': signature, ...headers } = request.headers as Record<string, string>;
      const webhook = new Webhook(secret);
      webhook.verify(body, headers);
      webhook.verify(body, { ...headers, 'webhook-signature': signature ?? '' });
      response.writeHead(204).end();
      resolve(JSON.parse(body));
    } catch (error) {
      response.writeHead(400).end();
      reject(error);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) throw new Error('the delivery is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
