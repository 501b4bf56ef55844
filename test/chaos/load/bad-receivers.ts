import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import type { Writable } from 'node:stream';
import type { Answer } from '../../support/fakes/receive-webhooks.ts';

const DRIP_INTERVAL_MS = 200;
const ENDLESS_CHUNK = 'x'.repeat(64 * 1024);
const INTERIM_ANSWERS = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(4_096);
const HUGE_HEADER = 'x'.repeat(512 * 1024);

const byHand =
  (answer: (response: ServerResponse) => void): Answer =>
  (_, response) => {
    answer(response);
    return undefined;
  };

/** Misbehaving receivers by kind of fault, and the class that an attempt at each must get. */
export const badAnswers = (
  internalUrl: string,
): Readonly<Record<string, { readonly answer: Answer; readonly class: string }>> => ({
  'status 500': { answer: 500, class: 'http-5xx' },
  '429 with Retry-After': {
    answer: byHand((response) => response.writeHead(429, { 'retry-after': '1' }).end()),
    class: 'http-4xx',
  },
  'redirect inwards': {
    answer: byHand((response) => response.writeHead(302, { location: internalUrl }).end()),
    class: 'http-3xx',
  },
  '410': { answer: 410, class: 'gone' },
  'interim answers without end': {
    answer: byHand(({ socket }) => socket && endlessly(socket, INTERIM_ANSWERS)),
    class: 'response-malformed',
  },
  'endless body': {
    answer: byHand((response) => endlessly(response.writeHead(500), ENDLESS_CHUNK)),
    class: 'http-5xx',
  },
  'slow drip': { answer: byHand(drip), class: 'timeout' },
  reset: { answer: byHand((response) => response.socket?.resetAndDestroy()), class: 'connection-reset' },
  'huge headers': {
    answer: byHand((response) => response.socket?.end(`HTTP/1.1 200 OK\r\nx-huge: ${HUGE_HEADER}\r\n\r\n`)),
    class: 'response-malformed',
  },
});

function endlessly(stream: Writable, chunk: string): void {
  const write = (): void => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on('drain', write);
  write();
}

/** Sends the head byte by byte, and never its end. */
function drip(response: ServerResponse): void {
  const { socket } = response;
  const head = [...'HTTP/1.1 200 OK\r\nx-slow: '];
  const timer = setInterval(() => socket?.write(head.shift() ?? 'x'), DRIP_INTERVAL_MS);
  socket?.on('close', () => clearInterval(timer));
}

/** Answers TLS handshakes with plain HTTP. */
export async function startBadTls(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}
