import { connect, type Socket } from 'node:net';
import { hashApiKey, makeApiKey } from '#shared/contracts/apps/api-key.ts';
import { FairTicks } from '#shared/fairness/fair-ticks.ts';
import { InFlight } from '#shared/http/in-flight.ts';
import type { AdmitRequest } from '#shared/stores/checks/admit.ts';
import {
  A_CHECK,
  API_KEY,
  anAdmission,
  anAppWithKey,
  type FakeGateway,
  type FakeOptions,
  holderOf,
} from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';
import { waitUntil } from '../../test/support/wait-until.ts';

/** One client app takes all it can get, and another one is served all the same. */

const OTHER_KEY = makeApiKey(new Uint8Array(30).fill(8));
const A_POLL_CHECK = { ...A_CHECK, async: true };
const apps = [anAppWithKey(), otherApp()];
const holdersOf = (hash: string) => apps.flatMap((app) => holderOf(app, hash) ?? []);

function otherApp() {
  const app = anAppWithKey({ clientId: 'app_2', accountId: 'acc_2' });
  return { ...app, keys: app.keys.map((key) => ({ ...key, hash: hashApiKey(OTHER_KEY) })) };
}

const startGateway = fakeGateways();
const start = (options: FakeOptions) =>
  startGateway({ ...options, findKey: async (hash) => holdersOf(hash)[0] });

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Sends a check whose body never ends; returns the answer, and whether the connection was
 * closed. */
function sendHalf({ url }: FakeGateway) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  sockets.push(socket);
  const seen = { answer: '', isClosed: false };
  socket.on('data', (data) => {
    seen.answer += data.toString('latin1');
  });
  socket.on('close', () => {
    seen.isClosed = true;
  });
  socket.on('error', () => undefined);
  socket.write(
    `POST /access-control/check-roles HTTP/1.1\r\nhost: x\r\nx-api-key: ${API_KEY}\r\n` +
      'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
  );
  return seen;
}

it('half-sent checks of one client app take no slots of other requests, not even of the same app', async () => {
  const gateway = await start({ inFlightMax: 2, bodyReadsMax: 8 });
  const halves = Array.from({ length: 20 }, () => sendHalf(gateway));
  // It may hold a quarter of the eight; each further one ends the oldest.
  const refused = () => halves.filter(({ isClosed }) => isClosed);
  await waitUntil('the bodies beyond the bound to be refused', () => refused().length === 18);
  for (const { answer } of refused()) expect(answer).toMatch(/^HTTP\/1.1 503 [\s\S]*"code":"overloaded"/);
  expect(gateway.admitted).toHaveLength(18);
  expect((await gateway.post(A_POLL_CHECK, { 'x-api-key': OTHER_KEY })).status).toBe(202);
  expect((await gateway.post(A_POLL_CHECK)).status).toBe(202);
  expect((await gateway.get('/access-control/chains')).status).toBe(200);
});

it('a body that does not come is answered 408, and its connection is closed', async () => {
  const gateway = await start({ bodyTimeoutMs: 20 });
  const half = sendHalf(gateway);
  await waitUntil('the connection to be closed', () => half.isClosed);
  expect(half.answer).toMatch(/^HTTP\/1.1 408 [\s\S]*"code":"request-timeout"/);
  expect(gateway.published).toHaveLength(0);
});

it('a body that does not come costs rate and no quota, and its answer carries the limits', async () => {
  const gateway = await start({ bodyTimeoutMs: 20 });
  const half = sendHalf(gateway);
  await waitUntil('the connection to be closed', () => half.isClosed);
  expect(half.answer).toMatch(/^ratelimit: "per-second";r=9;t=1, "per-month";r=9999;t=864000\r$/im);
  expect(half.answer).toMatch(/^rolecall-accepted-at: \d+\r$/im);
  expect(gateway.admitted.map(({ bucket, check }) => [bucket, check])).toEqual([['per-second', undefined]]);
});

it('a body that does not come and exceeds the rate is answered 429, and its connection is closed', async () => {
  const admit = async (request: AdmitRequest) => anAdmission(request, { outcome: 'rate-limited' });
  const gateway = await start({ bodyTimeoutMs: 20, admit });
  const half = sendHalf(gateway);
  await waitUntil('the connection to be closed', () => half.isClosed);
  expect(half.answer).toMatch(/^HTTP\/1.1 429 [\s\S]*"code":"rate-limited"/);
});

it('one client app has at most as many requests in flight as are left to the others', async () => {
  const gateway = await start({ inFlightMax: 8, syncDeadlineMs: 60_000 });
  const waiting = [gateway.post(A_CHECK), gateway.post(A_CHECK)];
  await waitUntil('two checks to wait', () => gateway.waiters.count() === 2);
  const beyond = await gateway.post(A_CHECK);
  expect(beyond.status).toBe(503);
  expect(beyond.headers.get('retry-after')).toBe('1');
  expect((await problemOf(beyond))['code']).toBe('overloaded');
  expect((await gateway.post(A_POLL_CHECK, { 'x-api-key': OTHER_KEY })).status).toBe(202);
  gateway.waiters[Symbol.dispose]();
  for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(504);
  expect((await gateway.post(A_POLL_CHECK)).status).toBe(202);
});

it('bodies that wait to be taken up are counted with their memory', async () => {
  const gateway = await start({ inFlightMax: 1_000 });
  const turn = jest.spyOn(FairTicks.prototype, 'turn').mockReturnValue(new Promise(() => undefined));
  const ended = new AbortController();
  const body = JSON.stringify({ text: 'x'.repeat(200_000) });
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' };
  const statuses: number[] = [];
  const send = () =>
    fetch(`${gateway.url}/access-control/check-roles`, {
      method: 'POST',
      headers,
      body,
      signal: ended.signal,
    });
  const sent = Array.from({ length: 40 }, () =>
    send().then(
      ({ status }) => statuses.push(status),
      () => undefined,
    ),
  );
  await waitUntil('the memory of one app to be used up', () => statuses.length > 0, 10_000);
  expect(new Set(statuses)).toEqual(new Set([503]));
  ended.abort();
  await Promise.all(sent);
  turn.mockRestore();
});

it('documents that visitors ask for count together, and those of a network as of one visitor', async () => {
  const gateway = await start({ trustedProxies: ['127.0.0.1'] });
  const hold = jest.spyOn(InFlight.prototype, 'holdAnswer');
  for (const address of ['2001:db8::1', '2001:db8::2', '192.0.2.1'])
    await gateway.get('/openapi.json', { 'x-forwarded-for': address });
  expect(hold.mock.calls.map(([, , { visitor }]) => visitor)).toEqual([
    { accountId: 'visitors', clientId: '2001:db8::/64' },
    { accountId: 'visitors', clientId: '2001:db8::/64' },
    { accountId: 'visitors', clientId: '192.0.2.1' },
  ]);
  hold.mockRestore();
});

it("one client app's long polls leave room for those of others", async () => {
  const gateway = await start({ waitersMax: 8 });
  const pollOf = async (key: string) => {
    const { requestId } = (await (await gateway.post(A_POLL_CHECK, { 'x-api-key': key })).json()) as {
      requestId: string;
    };
    return gateway.get(`/access-control/check-roles/responses/${requestId}`, {
      'x-api-key': key,
      prefer: 'wait=20',
    });
  };
  const waiting = [pollOf(API_KEY), pollOf(API_KEY)];
  await waitUntil('two long polls to wait', () => gateway.waiters.count() === 2);
  expect((await pollOf(API_KEY)).status).toBe(202);
  const others = pollOf(OTHER_KEY);
  await waitUntil('the other long poll to wait', () => gateway.waiters.count() === 3);
  gateway.waiters.endLongPolls();
  for (const answer of await Promise.all([...waiting, others])) expect(answer.status).toBe(202);
});
