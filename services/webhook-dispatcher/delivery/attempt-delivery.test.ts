import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { connect as connectTls, createServer as createTlsListener } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Dispatcher } from 'undici';
import { parseCidrs } from '#shared/contracts/webhooks/callback-address.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { connectDelivery, postOnce, RECEIVED_BYTES_MAX } from './attempt-delivery.ts';
import { makeGuardedConnector, makeResolveHost } from './guarded-connector.ts';

// Scenario: receivers on loopback that misbehave in every way. Every attempt has a class, ends in
// time, and reads a bounded number of bytes.

const connect = (attemptTimeoutMs: number, connectionsMax?: number) =>
  connectDelivery({
    ...(connectionsMax !== undefined && { connectionsMax }),
    connect: makeGuardedConnector({
      allowed: parseCidrs('127.0.0.0/8'),
      allowHttp: true,
      connectTimeoutMs: attemptTimeoutMs,
      resolve: makeResolveHost([]),
    }),
    attemptTimeoutMs,
    connectionsPerOriginMax: 16,
  });
const OWNER = { accountId: 'acc_1', clientId: 'app_1' };
const delivery = connect(120_000);
/** For receivers that can only time out. */
const ATTEMPT_TIMEOUT_MS = 400;
const hasty = connect(ATTEMPT_TIMEOUT_MS);
const servers: Server[] = [];
const sockets = new Set<Socket>();

async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  servers.push(server);
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const post = (url: string, over = delivery) =>
  over.attempt({ owner: OWNER, url, headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
const attemptAt = async (listener: RequestListener) =>
  post(`http://127.0.0.1:${await listen(createServer(listener))}/hook?x=1`);
const attemptAtRaw = async (onConnection: (socket: Socket) => void, over = delivery) =>
  post(`http://127.0.0.1:${await listen(createTcpServer(onConnection))}/`, over);

afterEach(async () => {
  jest.restoreAllMocks();
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

afterAll(async () => {
  await Promise.all([delivery, hasty].map((each) => each[Symbol.asyncDispose]()));
});

test('posts the unchanged body to path and query, and counts a 204 as delivered', async () => {
  let seen = '';
  const outcome = await attemptAt((request, response) => {
    seen = `${request.method} ${request.url} ${request.headers['content-type']} `;
    request.on('data', (chunk) => {
      seen += String(chunk);
    });
    request.on('end', () => response.writeHead(204).end());
  });
  expect(outcome).toMatchObject({ class: 'delivered', status: 204, body: '' });
  expect(seen).toBe('POST /hook?x=1 application/json {"a":1}');
});

test.each([
  [200, 'delivered'],
  [400, 'http-4xx'],
  [410, 'gone'],
  [500, 'http-5xx'],
])('classifies a %i as %s and keeps the beginning of its body', async (status, attemptClass) => {
  const outcome = await attemptAt((_, response) => response.writeHead(status).end('why'));
  expect(outcome).toMatchObject({ class: attemptClass, status, body: 'why' });
});

test('returns the Retry-After of a 429', async () => {
  const outcome = await attemptAt((_, response) => response.writeHead(429, { 'retry-after': '120' }).end());
  expect(outcome).toMatchObject({ class: 'http-4xx', status: 429, retryAfter: '120' });
});

test('fails on a redirect and never follows it', async () => {
  let internal = 0;
  const internalPort = await listen(
    createServer((_, response) => {
      internal += 1;
      response.end();
    }),
  );
  const location = `http://127.0.0.1:${internalPort}/`;
  const outcome = await attemptAt((_, response) => response.writeHead(301, { location }).end());
  expect(outcome).toMatchObject({ class: 'http-3xx', status: 301 });
  expect(internal).toBe(0);
});

test('reads 64 KiB and keeps 4 KiB of an endless body, and goes by its status', async () => {
  let sentBytes = 0;
  const outcome = await attemptAt((_, response) => {
    const chunk = Buffer.alloc(16_384, 'x');
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sentBytes += chunk.length;
    };
    response.on('drain', write);
    write();
  });
  expect(outcome).toMatchObject({ class: 'delivered', status: 200, body: 'x'.repeat(4_096) });
  // The sockets' buffers hold some more.
  expect(sentBytes).toBeLessThan(16 * 1024 * 1024);
});

test.each([
  ['interim answers', '', 'HTTP/1.1 103\r\n\r\n'],
  ['extensions of a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1', ';a=b'],
])('closes the connection of a receiver that sends %s without end', async (_, head, unit) => {
  let sentBytes = 0;
  const block = unit.repeat(4_096);
  const outcome = await attemptAtRaw((socket) =>
    socket.once('data', () => {
      socket.write(head);
      const write = () => {
        while (!socket.destroyed && socket.write(block));
        sentBytes = socket.bytesWritten;
      };
      socket.on('drain', write);
      write();
    }),
  );
  expect(outcome).toMatchObject({ class: 'response-malformed' });
  // The sockets' buffers hold some more.
  expect(sentBytes).toBeLessThan(RECEIVED_BYTES_MAX + 16 * 1024 * 1024);
});

test('closes the connection of a receiver that renegotiates without end', async () => {
  let count = 0;
  const options = { key: TEST_KEY, cert: TEST_CERTIFICATE, maxVersion: 'TLSv1.2' } as const;
  const port = await listen(
    createTlsListener(options, (socket) => {
      const again = () =>
        socket.renegotiate({}, (error) => {
          if (error || socket.destroyed) return;
          count += 1;
          again();
        });
      socket.once('data', again);
      socket.on('error', () => undefined);
    }),
  );
  await using trusting = connectDelivery({
    connect: (_, callback) => {
      const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
      socket.once('secureConnect', () => callback(null, socket));
      return undefined;
    },
    attemptTimeoutMs: 120_000,
    connectionsPerOriginMax: 1,
  });
  expect(await post(`https://receiver.example:${port}/`, trusting)).toMatchObject({
    class: 'response-malformed',
  });
  expect(count).toBeLessThan(100);
});

test('closes the connection of a receiver that sends tickets without end', async () => {
  const port = await listen(createTcpServer());
  await using delivery = connectDelivery({
    connect: (_, callback) => {
      const socket = connectTcp(port, '127.0.0.1');
      socket.once('connect', () => {
        callback(null, socket);
        // No server of Node sends more than two.
        for (let i = 0; i < 100; i += 1) socket.emit('session', Buffer.alloc(0));
      });
      return undefined;
    },
    attemptTimeoutMs: 120_000,
    connectionsPerOriginMax: 1,
  });
  expect(await post('http://receiver.example/', delivery)).toMatchObject({ class: 'response-malformed' });
});

test('takes any number of answers of one connection', async () => {
  const port = await listen(createServer((_, response) => response.end('x'.repeat(32_768))));
  for (let i = 0; i < (3 * RECEIVED_BYTES_MAX) / 32_768; i += 1)
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ class: 'delivered' });
});

test('keeps 4 KiB of text of a body that is not text', async () => {
  const { body } = await attemptAt((_, response) => void response.end(Buffer.alloc(8_192, 0xff)));
  expect(body).toBe('\ufffd'.repeat(1_365));
});

test('times out on a response that drips, in its headers or its body', async () => {
  const drip = (first: string) => (socket: Socket) => {
    socket.write(first);
    const timer = setInterval(() => socket.write('a'), 20);
    socket.on('close', () => clearInterval(timer));
  };
  expect(await attemptAtRaw(drip('HTTP/1.1 200 OK\r\nx-drip: '), hasty)).toMatchObject({ class: 'timeout' });
  expect(await attemptAtRaw(drip('HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n'), hasty)).toMatchObject({
    class: 'timeout',
  });
});

test('times out on a receiver that accepts and does not answer', async () => {
  const outcome = await attemptAtRaw(() => undefined, hasty);
  expect(outcome).toMatchObject({ class: 'timeout' });
  expect(outcome.durationMs).toBeGreaterThanOrEqual(ATTEMPT_TIMEOUT_MS - 5);
});

test('classifies a reset, an early close and an unrequested upgrade as connection-reset', async () => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n';
  expect(await attemptAtRaw((socket) => void socket.write(upgrade))).toMatchObject({
    class: 'connection-reset',
  });
  expect(await attemptAtRaw((socket) => socket.resetAndDestroy())).toMatchObject({
    class: 'connection-reset',
  });
  const afterRequest = (socket: Socket) => socket.once('data', () => socket.destroy());
  expect(await attemptAtRaw(afterRequest)).toMatchObject({ class: 'connection-reset' });
});

test('classifies a closed port as connect-failed', async () => {
  const port = await listen(createServer());
  await new Promise((resolve) => servers.pop()?.close(resolve));
  expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ class: 'connect-failed' });
});

test.each([
  ['100 kB of headers', `HTTP/1.1 200 OK\r\nx-large: ${'a'.repeat(100_000)}\r\n\r\n`],
  ['a protocol other than HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['an invalid status', 'HTTP/1.1 2x0 OK\r\n\r\n'],
])('classifies %s as response-malformed', async (_, answer) => {
  expect(await attemptAtRaw((socket) => void socket.write(answer))).toMatchObject({
    class: 'response-malformed',
  });
});

test('classifies an untrusted certificate, and plain text instead of TLS, as tls-failed', async () => {
  const tlsPort = await listen(createTlsServer({ key: TEST_KEY, cert: TEST_CERTIFICATE }));
  expect(await post(`https://127.0.0.1:${tlsPort}/`)).toMatchObject({ class: 'tls-failed' });
  const plainPort = await listen(createServer());
  expect(await post(`https://127.0.0.1:${plainPort}/`)).toMatchObject({ class: 'tls-failed' });
});

test('keeps connections alive and reuses them', async () => {
  let connections = 0;
  const server = createServer((_, response) => response.writeHead(204).end());
  server.on('connection', () => {
    connections += 1;
  });
  const port = await listen(server);
  for (let i = 0; i < 20; i += 1) await post(`http://127.0.0.1:${port}/`);
  // A second one, because the first may not be free yet when its response is returned.
  expect(connections).toBeLessThanOrEqual(2);
});

test('keeps a bounded number of connections open, however long the receivers want to keep theirs', async () => {
  const CONNECTIONS_MAX = 4;
  await using few = connect(ATTEMPT_TIMEOUT_MS * 10, CONNECTIONS_MAX);
  const server = createServer((_, response) =>
    response.writeHead(204, { 'keep-alive': 'timeout=600' }).end(),
  );
  server.keepAliveTimeout = 600_000;
  const port = await listen(server, '0.0.0.0');
  // Each address of loopback is an origin.
  for (let i = 1; i <= 3 * CONNECTIONS_MAX; i += 1)
    expect(await post(`http://127.0.1.${i}:${port}/`, few)).toMatchObject({ class: 'delivered' });
  const openCount = () => [...sockets].filter((socket) => !socket.destroyed).length;
  await waitUntil('the others to close', async () => openCount() <= CONNECTIONS_MAX);
  expect(openCount()).toBeGreaterThan(0);
});

test('repeats it also while other attempts dial', async () => {
  const otherPort = await listen(createServer((_, response) => response.writeHead(204).end()));
  const seen = new WeakSet<object>();
  const server = createServer(async (request, response) => {
    if (!seen.has(request.socket)) {
      seen.add(request.socket);
      return response.writeHead(204).end();
    }
    await post(`http://127.0.0.1:${otherPort}/`);
    return request.socket.destroy();
  });
  const port = await listen(server);
  jest.spyOn(performance, 'now').mockReturnValue(0);
  for (let i = 0; i < 2; i += 1)
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ class: 'delivered' });
});

test('does not repeat a request whose new connection is reset', async () => {
  let count = 0;
  jest.spyOn(performance, 'now').mockReturnValue(0);
  const outcome = await attemptAt((request) => {
    count += 1;
    request.socket.destroy();
  });
  expect([outcome.class, count]).toEqual(['connection-reset', 1]);
});

test('repeats a request within its attempt if the receiver closes the kept-alive connection', async () => {
  const seen = new WeakSet<object>();
  const server = createServer((request, response) => {
    // Close the connection on its second request.
    if (seen.has(request.socket)) return request.socket.destroy();
    seen.add(request.socket);
    return response.writeHead(204).end();
  });
  const port = await listen(server);
  // Only a connection that was closed at once was closed for being old.
  jest.spyOn(performance, 'now').mockReturnValue(0);
  for (let i = 0; i < 5; i += 1)
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ class: 'delivered' });
});

test('a repeated request has what is left of the time of its attempt', async () => {
  await using patient = connect(1_200);
  let nowMs = 0;
  const seen = new WeakSet<object>();
  const server = createServer((request, response) => {
    if (!seen.has(request.socket)) {
      seen.add(request.socket);
      return response.writeHead(204).end();
    }
    nowMs = 1_000;
    return request.socket.destroy();
  });
  const url = `http://127.0.0.1:${await listen(server)}/`;
  jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const timers = jest.spyOn(globalThis, 'setTimeout');
  // More than two, because a connection may not be free yet when its response is returned.
  for (let i = 0; i < 5; i += 1) {
    nowMs = 0;
    expect(await post(url, patient)).toMatchObject({ class: 'delivered' });
  }
  const timeoutsMs = new Set(timers.mock.calls.map(([, ms]) => ms));
  expect([timeoutsMs.has(1_200), timeoutsMs.has(200)]).toEqual([true, true]);
});

test('never sends a request that timed out while it waited for a connection', async () => {
  const handlers: Dispatcher.DispatchHandler[] = [];
  const agent = { dispatch: (_: unknown, handler: Dispatcher.DispatchHandler) => handlers.push(handler) > 0 };
  const posted = postOnce(
    agent,
    { url: 'http://127.0.0.1:9/', headers: {}, body: '{}' },
    { timeoutMs: 1, reset: false },
  );
  await expect(posted).rejects.toBeDefined();
  let aborted = 0;
  const controller = { abort: () => void aborted++ } as unknown as Dispatcher.DispatchController;
  // A connection is free now.
  handlers[0]?.onRequestStart?.(controller, {});
  expect(aborted).toBe(1);
});

test('keeps no memory of responses with endless bodies, endless headers or single slow bytes', async () => {
  const endless = await listen(
    createServer((_, response) => {
      const write = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, 'x')));
      };
      response.on('drain', write);
      write();
    }),
  );
  const headers = await listen(
    createTcpServer(
      (socket) => void socket.write(`HTTP/1.1 200 OK\r\nx-large: ${'a'.repeat(100_000)}\r\n\r\n`),
    ),
  );
  const drops = await listen(
    createTcpServer((socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\nx')),
  );
  const round = async (count: number) => {
    const urls = [endless, headers, drops].map((port) => `http://127.0.0.1:${port}/`);
    await Promise.all(Array.from({ length: count }, (_, i) => post(urls[i % urls.length] ?? '', hasty)));
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  await round(60);
  const before = memoryInUse();
  for (let i = 0; i < 5; i += 1) await round(120);
  // More than 13 MB were read of the endless bodies alone. Memory of connections that are still
  // closing is not a leak; a busy machine may free it late.
  await waitUntil('the memory to be free again', async () => memoryInUse() - before < 6 * 1024 * 1024);
});

/** Bytes in use after a garbage collection. */
function memoryInUse(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Self-signed, for `receiver.example`, made for this test alone. */
const TEST_KEY = `
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAaErzpBu5/LL1fan
r0ZrHiMXRjZIYOwswvvF2O6N1gahRANCAARyvIryQPRVsvBQ+GTUGWZoSqO/l0nf
EBpsrHjvVN02/KMad4ivtbJ1sb3TyqwHIEkfGbMKxLC23R66DZc03c2t
-----END PRIVATE KEY-----
`;
const TEST_CERTIFICATE = `
-----BEGIN CERTIFICATE-----
MIIBqjCCAVCgAwIBAgIUOwy+6Rn/n4lTmQf2cPR51I1sWtswCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQcmVjZWl2ZXIuZXhhbXBsZTAgFw0yNjExMjEwMjU0MDFaGA8y
MTI2MTAyODAyNTQwMVowGzEZMBcGA1UEAwwQcmVjZWl2ZXIuZXhhbXBsZTBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABHK8ivJA9FWy8FD4ZNQZZmhKo7+XSd8QGmys
eO9U3Tb8oxp3iK+1snWxvdPKrAcgSR8ZswrEsLbdHroNlzTdza2jcDBuMB0GA1Ud
DgQWBBQm73fiNDvnNUG/u23z3IGXSm9WxTAfBgNVHSMEGDAWgBQm73fiNDvnNUG/
u23z3IGXSm9WxTAPBgNVHRMBAf8EBTADAQH/MBsGA1UdEQQUMBKCEHJlY2VpdmVy
LmV4YW1wbGUwCgYIKoZIzj0EAwIDSAAwRQIgLaIWE3URegRnbNMrhJmccegnAQGv
55BwrIHiIWiUaBQCIQD+WSskCX48ERyuWbzuDSbEHGLXm2nuP0xN6cnqLKhuoQ==
-----END CERTIFICATE-----
`;
