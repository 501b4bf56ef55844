import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { waitUntil } from '../../test/support/wait-until.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

// Scenario: bytes that are not HTTP come on a connection whose requests are still being answered,
// or are answered.

let server: HttpServer;
/** Answers that the handler owes, by path. */
let owed: Map<string, PromiseWithResolvers<ServerResponse>>;
const answerOf = (path: string) => {
  const found = owed.get(path) ?? Promise.withResolvers<ServerResponse>();
  owed.set(path, found);
  return found;
};
beforeEach(async () => {
  owed = new Map();
  server = await startHttpServer(({ url = '' }, response) => answerOf(url).resolve(response), {
    host: '127.0.0.1',
    port: 0,
    connectionsMax: 10,
    readinessLeadMs: 0,
    headers: {},
  });
});
afterEach(() => server[Symbol.asyncDispose]());

function open() {
  const socket = connect(server.port, '127.0.0.1');
  let heard = '';
  socket.on('data', (data) => {
    heard += String(data);
  });
  socket.on('error', () => undefined);
  return {
    socket,
    closed: once(socket, 'close'),
    statuses: () => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code),
  };
}
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const postChunked = (path: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`;

test.each([
  ['after it', ''],
  ['in the body of the next one', postChunked('/next')],
])(
  'garbage %s ends the connection of a request that waits for its answer, and no 400 takes its place',
  async (_, next) => {
    const { socket, closed, statuses } = open();
    socket.write(get('/'));
    const response = await answerOf('/').promise;
    socket.write(`${next}garbage\r\n\r\n`);
    await closed;
    response.end('late');
    expect(statuses()).toEqual([]);
  },
);

test('garbage after a request that has its answer is answered 400, behind that answer', async () => {
  const { socket, closed, statuses } = open();
  socket.write(get('/'));
  (await answerOf('/').promise).end('answer');
  await once(socket, 'data');
  socket.write('garbage\r\n\r\n');
  await closed;
  expect(statuses()).toEqual(['200', '400']);
});

test('garbage in the body of the only request is answered 400', async () => {
  const { socket, closed, statuses } = open();
  socket.write(`${postChunked('/')}garbage\r\n`);
  await closed;
  expect(statuses()).toEqual(['400']);
});

test('the networks of one site leave connections to others', async () => {
  // What `remoteAddress` reads, which cannot be replaced itself.
  const peer = jest.spyOn(Socket.prototype as never as { _getpeername: () => object }, '_getpeername');
  const outcomes: unknown[] = [];
  for (let network = 0; network < 8; network += 1) {
    const path = `/${network}`;
    peer.mockReturnValue({ address: `2001:db8:0:${network}::1` });
    const { socket, closed } = open();
    socket.write(get(path));
    const outcome = Promise.race([closed.then(() => 'refused'), answerOf(path).promise.then(() => 'served')]);
    outcomes.push(await outcome);
  }
  peer.mockRestore();
  for (const answer of owed.values()) void answer.promise.then((response) => response.end());
  expect(outcomes).toEqual([...Array(4).fill('served'), ...Array(4).fill('refused')]);
});

test('a request is handled once those before it on its connection have been answered', async () => {
  const { socket, statuses } = open();
  const [other, one] = [open(), answerOf('/one').promise];
  socket.write(get('/one') + get('/two') + get('/three'));
  other.socket.write(get('/other'));
  (await answerOf('/other').promise).end();
  const handled = () => [...owed.keys()];
  expect((await one).req.url).toBe('/one');
  expect(handled()).toEqual(['/one', '/other']);
  (await one).end();
  (await answerOf('/two').promise).end();
  (await answerOf('/three').promise).end();
  await waitUntil('three answers', () => statuses().length === 3);
});

test('a request whose connection ends before its turn is not handled', async () => {
  const { socket, closed } = open();
  socket.write(get('/one') + get('/two'));
  const first = await answerOf('/one').promise;
  socket.destroy();
  await closed;
  await once(first, 'close');
  await setImmediate();
  expect([...owed.keys()]).toEqual(['/one']);
});

test('a connection that sends many requests before it has read an answer is closed', async () => {
  const { socket, closed } = open();
  socket.write(get('/').repeat(1_000));
  await closed;
  expect([...owed.keys()]).toEqual(['/']);
});
