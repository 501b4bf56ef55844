import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { type HttpServer, startHttpServer } from '#shared/http/http-server.ts';
import { makeLogger } from '#shared/telemetry/log.ts';
import { API_KEY, type FakeGateway, startFakeGateway } from '../../../test/support/fakes/fake-gateway.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { COMMON_HEADERS } from './exchange.ts';

// Scenario: clients misuse a socket in every way. Each gets an answer or a closed connection;
// nothing hangs or crashes.

const CHECK = JSON.stringify({
  account: '0x52908400098527886E0F7030069857D2E4169EE7',
  rules: [{ type: 'NATIVE', chainId: 1, roleId: 'holder' }],
  async: true,
});
const HEAD = `x-api-key: ${API_KEY}\r\ncontent-type: application/json\r\n`;

let gateway: FakeGateway;
let server: HttpServer;
beforeEach(async () => {
  gateway = await startFakeGateway();
  server = await startHttpServer(gateway.listener, {
    host: '127.0.0.1',
    port: 0,
    connectionsMax: 100,
    readinessLeadMs: 0,
    headers: COMMON_HEADERS,
  });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

/** Sends bytes as they are and returns all that comes back until the server closes the
 * connection. */
async function talk(...parts: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(server.port, '127.0.0.1');
  let heard = '';
  socket.on('data', (data) => {
    heard += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  for (const part of parts) socket.write(part);
  await once(socket, 'close');
  return heard;
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

const statusesOf = (heard: string): string[] =>
  [...heard.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => code ?? '');
const post = (headers: string, body: string): string =>
  `POST /access-control/check-roles HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${HEAD}${headers}\r\n${body}`;

describe('the server', () => {
  it('knows how many connections clients have open', async () => {
    expect(await server.countConnections()).toBe(0);
    const socket = connect(server.port, '127.0.0.1');
    await waitUntil('the connection', async () => (await server.countConnections()) === 1);
    socket.destroy();
    await waitUntil('its end', async () => (await server.countConnections()) === 0);
  });

  it.each([
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', '400'],
    ['an unknown method', 'FOO / HTTP/1.1\r\nhost: x\r\n\r\n', '400'],
    ['a NUL byte in a header', 'GET / HTTP/1.1\r\nhost: x\r\nx-api-key: a\0b\r\n\r\n', '400'],
    [
      'Content-Length and Transfer-Encoding together',
      post('content-length: 5\r\ntransfer-encoding: chunked\r\n', '0\r\n\r\n'),
      '400',
    ],
    ['two Content-Lengths', post('content-length: 5\r\ncontent-length: 6\r\n', '{}'), '400'],
    ['a negative Content-Length', post('content-length: -1\r\n', ''), '400'],
    ['an overflowing Content-Length', post('content-length: 99999999999999999999999\r\n', ''), '400'],
    ['a malformed chunk', post('transfer-encoding: chunked\r\n', 'zz\r\n'), '400'],
    ['a folded header', 'GET / HTTP/1.1\r\nhost: x\r\nx-a: b\r\n c\r\n\r\n', '400'],
    ['too large headers', `GET / HTTP/1.1\r\nhost: x\r\nx-a: ${'a'.repeat(40_000)}\r\n\r\n`, '431'],
  ])('answers %s with a problem and closes', async (_, bytes, status) => {
    const heard = await talk(bytes);
    expect(statusesOf(heard)).toEqual([status]);
    expect(heard).toMatch(/content-type: application\/problem\+json/i);
    expect(heard).toMatch(/rolecall-version: 1/i);
    const body = JSON.parse(heard.slice(heard.lastIndexOf('\r\n\r\n'))) as { status: number; code: string };
    expect(body.status).toBe(Number(status));
    expect(gateway.published).toHaveLength(0);
  });

  it('answers a request target without a path like an unknown path', async () => {
    const heard = await talk('GET http:// HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    expect(statusesOf(heard)).toEqual(['404']);
    expect(heard).toMatch(/content-type: application\/problem\+json/i);
    expect(heard).toMatch(/rolecall-version: 1/i);
  });

  it('answers a request without a Host, or with a strange Expect, like any other', async () => {
    const heard = await talk(
      `GET /access-control/chains HTTP/1.1\r\nexpect: a-miracle\r\nconnection: close\r\nx-api-key: ${API_KEY}\r\n\r\n`,
    );
    expect(statusesOf(heard)).toEqual(['200']);
  });

  it('answers pipelined requests in their order', async () => {
    const request = (path: string, last = '') =>
      `GET ${path} HTTP/1.1\r\nhost: x\r\n${last}x-api-key: ${API_KEY}\r\n\r\n`;
    const heard = await talk(
      request('/access-control/chains') +
        request('/nowhere') +
        request('/access-control/chains', 'connection: close\r\n'),
    );
    expect(statusesOf(heard)).toEqual(['200', '404', '200']);
  });

  it('takes a chunked body, and refuses a body that grows beyond the bound while it is still being sent', async () => {
    const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
    const good = await talk(post('transfer-encoding: chunked\r\n', `${chunk(CHECK)}0\r\n\r\n`));
    expect(statusesOf(good)).toEqual(['202']);
    const endless = chunk(' '.repeat(100_000));
    const bad = await talk(post('transfer-encoding: chunked\r\n', endless.repeat(4)), '0\r\n\r\n');
    expect(statusesOf(bad)).toEqual(['413']);
  });

  it('refuses two API keys in one request', async () => {
    const heard = await talk(
      `GET /access-control/chains HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${API_KEY}\r\nx-api-key: ${API_KEY}\r\n\r\n`,
    );
    expect(statusesOf(heard)).toEqual(['401']);
  });

  it('gives a request one answer, also when the rest of its body turns out to be malformed', async () => {
    const head = 'POST /access-control/check-roles HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n';
    const socket = connect(server.port, '127.0.0.1');
    let heard = '';
    socket.on('error', () => undefined);
    socket.write(head);
    for await (const data of socket) {
      heard += String(data);
      socket.write('zz\r\n');
    }
    expect(statusesOf(heard)).toEqual(['401']);
  });

  it('survives clients that leave in the middle of their bodies, without logging an error', async () => {
    const lines: string[] = [];
    const log = makeLogger('test', 'info', { write: (line) => void lines.push(line) });
    await using own = await startFakeGateway({ log });
    const { port } = new URL(own.url);
    for (const leave of ['destroy', 'resetAndDestroy'] as const) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        socket.write(post('content-length: 1000\r\n', '{"account'), () => resolve());
      });
      socket[leave]();
    }
    const response = await own.post(JSON.parse(CHECK));
    expect(response.status).toBe(202);
    expect(lines).toEqual([]);
  });

  it('lets the requests under way finish before it is gone, and takes no new ones', async () => {
    let release = (): void => undefined;
    const arrived = Promise.withResolvers<void>();
    const listener: RequestListener = (_request, response) => {
      arrived.resolve();
      release = () => response.end('done');
    };
    const own = await startHttpServer(listener, {
      host: '127.0.0.1',
      port: 0,
      connectionsMax: 10,
      readinessLeadMs: 0,
      headers: COMMON_HEADERS,
    });
    const url = `http://127.0.0.1:${own.port}/`;
    const slow = fetch(url).then((response) => response.text());
    await arrived.promise;
    const gone = own[Symbol.asyncDispose]();
    while (await isListening(own.port));
    release();
    expect(await slow).toBe('done');
    await gone;
  });

  it('says which port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const options = {
      host: '127.0.0.1',
      port,
      connectionsMax: 10,
      readinessLeadMs: 0,
      headers: COMMON_HEADERS,
    };
    await expect(startHttpServer(gateway.listener, options)).rejects.toThrow(/EADDRINUSE/);
    other.close();
  });
});
