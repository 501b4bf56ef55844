import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setInterval as ticks } from 'node:timers/promises';
import { type HttpServer, startHttpServer } from '#shared/http/http-server.ts';
import { API_KEY, type FakeGateway, startFakeGateway } from '../../../test/support/fakes/fake-gateway.ts';

/** Clients that hold on to connections without saying anything: each is let go in its time, and
 * told why. */

const OPTIONS = {
  host: '127.0.0.1',
  port: 0,
  connectionsMax: 100,
  timeoutsMs: { headers: 200, request: 400, keepAlive: 50, answer: 400 },
  readinessLeadMs: 0,
  headers: {},
};
const PATIENT = {
  ...OPTIONS,
  timeoutsMs: { headers: 120_000, request: 180_000, keepAlive: 120_000, answer: 120_000 },
};
const POST = `POST /access-control/check-roles HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\n`;
const GET = `GET /access-control/chains HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\n\r\n`;

let gateway: FakeGateway;
let server: HttpServer;
beforeEach(async () => {
  gateway = await startFakeGateway();
  server = await startHttpServer(gateway.listener, OPTIONS);
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await gateway[Symbol.asyncDispose]();
});

function open(to = server): { readonly socket: Socket; readonly heard: () => string } {
  const socket = connect(to.port, '127.0.0.1');
  let heard = '';
  socket.on('data', (data) => {
    heard += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  return { socket, heard: () => heard };
}

const statusesOf = (heard: string): string[] =>
  [...heard.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? '');

describe('a client that', () => {
  it.each([
    ['says nothing at all', ''],
    ['never ends its headers', POST],
    ['never ends its request line', 'POST /access-con'],
    [
      'never sends the body that it announced',
      `${POST}content-type: application/json\r\ncontent-length: 9\r\n\r\n`,
    ],
    [
      'never ends a chunked body',
      `${POST}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}`,
    ],
  ])('%s gets a 408 and is closed', async (_, bytes) => {
    const { socket, heard } = open();
    socket.write(bytes);
    await once(socket, 'close');
    expect(statusesOf(heard())).toEqual(['408']);
    expect(heard()).toContain('"code":"request-timeout"');
    expect(gateway.published).toHaveLength(0);
  });

  it.each([
    ['its headers', POST, 'x-a: b\r\n'],
    ['its body', `${POST}content-type: application/json\r\ncontent-length: 200000\r\n\r\n`, ' '],
  ])('sends %s slowly gets no extra time', async (_, bytes, drop) => {
    const { socket, heard } = open();
    socket.write(bytes);
    const isOver = new AbortController();
    socket.once('close', () => isOver.abort());
    const dribbling = (async () => {
      for await (const __ of ticks(5, undefined, { signal: isOver.signal })) socket.write(drop);
    })().catch(() => undefined);
    await once(socket, 'close');
    await dribbling;
    // The answer may be lost to a reset where bytes were under way; the connection is gone in any
    // case.
    for (const status of statusesOf(heard())) expect(status).toBe('408');
    expect(gateway.published).toHaveLength(0);
  });

  const body = JSON.stringify({
    account: `0x${'ab'.repeat(20)}`,
    async: true,
    rules: [{ type: 'NATIVE', chainId: 1, roleId: 'a', minToken: '1' }],
  });
  const check = `${POST}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  it.each([
    ['all of its request', 0],
    ['the end of its body', check.length - 10],
  ])(
    'sends %s after its 408 has no check: it was told that the request was refused',
    async (_, sentChars) => {
      const { socket, heard } = open();
      socket.write(check.slice(0, sentChars));
      socket.once('data', () => socket.write(check.slice(sentChars)));
      await once(socket, 'close');
      expect(statusesOf(heard())).toEqual(['408']);
      expect(gateway.published).toHaveLength(0);
      await using patient = await startHttpServer(gateway.listener, PATIENT);
      const inTime = open(patient);
      inTime.socket.write(check);
      await once(inTime.socket, 'data');
      expect(statusesOf(inTime.heard())).toEqual(['202']);
      inTime.socket.destroy();
    },
  );

  it('is idle after its answer is disconnected without another response', async () => {
    const timeoutsMs = { ...PATIENT.timeoutsMs, keepAlive: 50 };
    await using own = await startHttpServer(gateway.listener, { ...PATIENT, timeoutsMs });
    const { socket, heard } = open(own);
    socket.write(GET);
    await once(socket, 'close');
    expect(statusesOf(heard())).toEqual(['200']);
  });

  it('connects beyond the bound is refused, and the others are served', async () => {
    await using own = await startHttpServer(gateway.listener, { ...PATIENT, connectionsMax: 1 });
    const within = open(own);
    within.socket.write(GET);
    await once(within.socket, 'data');
    const beyond = open(own);
    beyond.socket.write(GET);
    await once(beyond.socket, 'close');
    expect(beyond.heard()).toBe('');
    within.socket.write(GET);
    await once(within.socket, 'data');
    expect(statusesOf(within.heard())).toEqual(['200', '200']);
    within.socket.destroy();
  });

  it('holds on to all connections that it can get leaves some to other addresses', async () => {
    await using own = await startHttpServer(gateway.listener, { ...PATIENT, connectionsMax: 8 });
    const held = Array.from({ length: 8 }, () => connect(own.port, '127.0.0.1'));
    const closed = new Set<Socket>();
    for (const socket of held) socket.on('error', () => undefined).once('close', () => closed.add(socket));
    while (closed.size < 5) await new Promise((resolve) => setImmediate(resolve));
    const other = connect({ port: own.port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    other.write(GET);
    const [data] = (await once(other, 'data')) as [Buffer];
    expect(statusesOf(data.toString('latin1'))).toEqual(['200']);
    expect(closed.size).toBe(5);
    for (const socket of [...held, other]) socket.destroy();
  });

  it('never reads its answer is closed, and one that reads it slowly is not', async () => {
    const size = 64 * 1024 * 1024;
    const timeoutsMs = { ...PATIENT.timeoutsMs, answer: 5_000 };
    await using own = await startHttpServer((_, response) => response.end(Buffer.alloc(size)), {
      ...PATIENT,
      timeoutsMs,
    });
    const idle = open(own).socket.pause();
    idle.write(GET);
    const slow = connect(own.port, '127.0.0.1');
    slow.write(GET);
    let readBytes = 0;
    slow.on('data', (data: Buffer) => {
      readBytes += data.length;
    });
    for await (const _ of ticks(100)) {
      slow.pause();
      if (readBytes > size) break;
      slow.resume();
      await new Promise((resolve) => setImmediate(resolve));
    }
    while ((await own.countConnections()) > 1) await new Promise((resolve) => setImmediate(resolve));
    expect(slow.destroyed).toBe(false);
    for (const socket of [idle, slow]) socket.destroy();
  });

  it('pipelines requests without reading answers blocks only its own connection', async () => {
    await using own = await startHttpServer(gateway.listener, PATIENT);
    const { socket } = open(own);
    socket.pause();
    socket.write(GET.repeat(1_000));
    const other = open(own);
    other.socket.write(GET);
    await once(other.socket, 'data');
    expect(statusesOf(other.heard())).toEqual(['200']);
    for (const each of [socket, other.socket]) each.destroy();
  });
});
