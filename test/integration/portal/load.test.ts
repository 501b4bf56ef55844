import { connect, type Socket } from 'node:net';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: one visitor sends half requests, or signs in many times at once. Everyone else is
// served; for half requests this includes other visitors from the same address.

const HALVES = 510;
/** Bodies of one address, which may hold three eighths of 256. */
const HALVES_KEPT = 96;

const stores = testStores(13);
const { config } = stores;
let portal: RunningPortal;
const sockets: Socket[] = [];

beforeAll(async () => {
  await stores.replay();
  portal = await stores.use(
    startPortal(config, { TRUSTED_PROXIES: '127.0.0.0/8', PORTAL_PASSWORD_COST: '15' }),
  );
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** A sign-in whose body never ends, and whether it was answered. */
function sendHalf() {
  const { port, host } = new URL(portal.url);
  const socket = connect(Number(port), '127.0.0.1');
  sockets.push(socket);
  const seen = { answer: '' };
  socket.on('data', (data) => {
    seen.answer += data.toString('latin1');
  });
  socket.on('error', () => undefined);
  socket.write(
    `POST /api/sign-in HTTP/1.1\r\nhost: ${host}\r\norigin: ${portal.url}\r\n` +
      'content-type: application/json\r\ncontent-length: 100\r\n\r\n{',
  );
  return seen;
}

const signIn = (client: PortalClient, address: string) =>
  client.send<{ code?: string }>(
    'POST',
    '/api/sign-in',
    { email: client.email, password: PASSWORD },
    { 'x-forwarded-for': address },
  );

test('pages and sign-ins are served while one address holds 510 half-sent sign-ins', async () => {
  const client = await signUp(portal.url);
  const halves = Array.from({ length: HALVES }, sendHalf);
  const refused = () => halves.filter(({ answer }) => answer !== '');
  await waitUntil('the half-sent sign-ins beyond the bound to be refused', () => {
    return refused().length >= HALVES - HALVES_KEPT;
  });
  expect((await fetch(`${portal.url}/`)).status).toBe(200);
  expect((await client.get('/api/session')).status).toBe(200);
  expect(
    (await client.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD })).status,
  ).toBe(200);
  const statuses = new Set(refused().map(({ answer }) => answer.slice(9, 12)));
  expect(statuses.has('503')).toBe(true);
  for (const status of statuses) expect(['408', '503']).toContain(status);
});

test('sign-ins of one address that fill the password queue do not block another address', async () => {
  const other = await signUp(portal.url);
  const ended = new AbortController();
  const statuses: number[] = [];
  const all = Array.from({ length: 70 }, async (_, i) => {
    const response = await fetch(`${portal.url}/api/sign-in`, {
      method: 'POST',
      headers: {
        origin: portal.url,
        'content-type': 'application/json',
        'x-forwarded-for': '192.0.2.1',
      },
      body: JSON.stringify({ email: `account-${i % 7}@example.com`, password: PASSWORD }),
      signal: ended.signal,
    });
    statuses.push(response.status);
  });
  await waitUntil('the queue to be full', () => statuses.includes(503));
  // It displaces a waiting one of the flooding address, and is the next in line.
  expect((await signIn(other, '192.0.2.2')).status).toBe(200);
  // A sign-in that was displaced is not charged as a wrong password: in the end that would give
  // 429.
  for (const status of statuses) expect([401, 503]).toContain(status);
  ended.abort();
  await Promise.allSettled(all);
});
