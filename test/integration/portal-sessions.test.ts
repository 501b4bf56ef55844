import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { openViews } from '#shared/views/open-views.ts';
import { rebuildViews } from '#shared/views/rebuild-views.ts';
import { connectTestKafka, connectTestRedis, testConfig } from '../support/connections.ts';
import {
  createApp,
  makePortalClient,
  PASSWORD,
  type RunningPortal,
  signUp,
  startPortal,
} from '../support/start-portal.ts';
import { waitUntil } from '../support/wait-until.ts';

// Scenario: two portals over one broker and one Redis, and people who sign up, in and out, some of them with ill intent.
// Whatever they send, nobody gets at what is another's, and nothing that was ended goes on.

const config = testConfig(11);
let connection: RedisConnection;
let portal: RunningPortal;
let other: RunningPortal;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  connection = stack.use(await connectTestRedis(config));
  const kafka = stack.use(await connectTestKafka(config));
  await rebuildViews({ ...openViews(connection.redis), kafka, now: Date.now, log: makeSilentLogger() });
  [portal, other] = await Promise.all([startPortal(config), startPortal(config)]);
  stack.use(portal);
  stack.use(other);
});

afterAll(() => stack.disposeAsync());

test('two who sign up with one address at once, at two portals, have one account', async () => {
  const client = makePortalClient(portal.url);
  const credentials = { email: client.email, password: PASSWORD };
  const answers = await Promise.all(
    [portal, other, portal, other].map(({ url }, i) =>
      makePortalClient(url).send('POST', '/api/sign-up', {
        ...credentials,
        email: i % 2 === 0 ? credentials.email : credentials.email.toUpperCase(),
      }),
    ),
  );
  expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(4).fill([202, {}]));
  const all = await openViews(connection.redis).accounts.list();
  expect(all.filter(({ email }) => email.toLowerCase() === client.email)).toHaveLength(1);
});

test('nobody learns whether an address is known, nor takes its account over by signing up again', async () => {
  const known = await signUp(portal.url);
  const stranger = makePortalClient(portal.url);
  const again = { email: known.email, password: 'another password' };
  expect(await stranger.send('POST', '/api/sign-up', again)).toMatchObject({ status: 202, body: {} });
  const attempts = await Promise.all([
    stranger.send<{ instance: string }>('POST', '/api/sign-in', again),
    stranger.send<{ instance: string }>('POST', '/api/sign-in', { ...again, email: 'nobody@example.com' }),
  ]);
  const [one, two] = attempts.map(({ status, body: { instance: _, ...body } }) => ({ status, body }));
  expect(one).toMatchObject({ status: 401, body: { code: 'credentials-invalid' } });
  expect(one).toEqual(two);
});

test('the cookie is out of reach of scripts and of other sites, and its token is nowhere in Redis', async () => {
  const client = makePortalClient(portal.url);
  const credentials = { email: client.email, password: PASSWORD };
  await client.send('POST', '/api/sign-up', credentials);
  const { headers } = await client.send('POST', '/api/sign-in', credentials);
  expect(headers.get('set-cookie')).toMatch(
    /^rolecall_session=[\w-]{43}; Max-Age=\d+; Path=\/; .*HttpOnly; SameSite=Strict$/,
  );
  const keys = await connection.redis.keys('*');
  expect(keys.filter((key) => key.startsWith('session:')).length).toBeGreaterThan(0);
  expect(keys.join()).not.toContain(client.token());
});

test('a session that was signed out of, rotated by a sign-in or ended by a new password is refused', async () => {
  const client = await signUp(portal.url);
  const first = client.token();
  await client.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD });
  const second = client.token();
  expect(second).not.toBe(first);
  const isLive = async (token: string | undefined): Promise<boolean> => {
    const reuser = makePortalClient(other.url);
    reuser.use(token);
    return (await reuser.get('/api/session')).status === 200;
  };
  expect([await isLive(first), await isLive(second)]).toEqual([false, true]);

  const elsewhere = makePortalClient(other.url, client.email);
  await elsewhere.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD });
  const wrong = await client.send('POST', '/api/account/password', {
    current: 'wrong',
    next: 'a new long password',
  });
  expect(wrong).toMatchObject({ status: 401, body: { code: 'credentials-invalid' } });
  const next = 'a new long password';
  expect((await client.send('POST', '/api/account/password', { current: PASSWORD, next })).status).toBe(204);
  expect([await isLive(second), await isLive(elsewhere.token()), await isLive(client.token())]).toEqual([
    false,
    false,
    true,
  ]);

  const last = client.token();
  await client.send('POST', '/api/sign-out');
  expect([client.token(), await isLive(last)]).toEqual([undefined, false]);
});

test('a session ends when it is not used, and in any case after its longest life', async () => {
  const brief = stack.use(
    await startPortal(config, { PORTAL_SESSION_IDLE_HOURS: '0.0005', PORTAL_SESSION_HOURS: '0.001' }),
  );
  const client = await signUp(brief.url);
  const token = client.token();
  await waitUntil('the session to end although it is used', async () => {
    client.use(token);
    return (await client.get('/api/session')).status === 401;
  });
  const idle = await signUp(brief.url);
  await waitUntil('the idle session to be gone', async () => {
    const sessions = await connection.redis.keys('session:*');
    const ends = await Promise.all(sessions.map((key) => connection.redis.pttl(key)));
    return ends.every((ms) => ms < 0 || ms > 10_000);
  });
  expect((await idle.get('/api/session')).status).toBe(401);
});

test('who guesses passwords is slowed down, and the owner at another address is not', async () => {
  const guarded = stack.use(await startPortal(config, { TRUSTED_PROXIES: '127.0.0.0/8,::1' }));
  const client = await signUp(portal.url);
  const attempt = (address: string, password: string) =>
    makePortalClient(guarded.url).send(
      'POST',
      '/api/sign-in',
      { email: client.email, password },
      { 'x-forwarded-for': address },
    );
  const guesses = [];
  for (let i = 0; i < 11; i++) guesses.push(await attempt('192.0.2.1', `guess ${i}`));
  expect(guesses.map(({ status }) => status)).toEqual([...Array(10).fill(401), 429]);
  expect(Number(guesses.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await attempt('192.0.2.1', PASSWORD)).status).toBe(429);
  expect((await attempt('192.0.2.2', PASSWORD)).status).toBe(200);
});

test('a password is guessed no oftener from many addresses of one IPv6 network', async () => {
  const guarded = stack.use(await startPortal(config, { TRUSTED_PROXIES: '127.0.0.0/8,::1' }));
  const client = await signUp(portal.url);
  const guess = (address: string) =>
    makePortalClient(guarded.url).send(
      'POST',
      '/api/sign-in',
      { email: client.email, password: 'a guess, and wrong' },
      { 'x-forwarded-for': address },
    );
  const statuses = [];
  for (let i = 0; i < 11; i++) statuses.push((await guess(`2001:db8:1:2::${i}`)).status);
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect((await guess('2001:db8:1:3::1')).status).toBe(401);
});

test('a write from another origin is refused, also with a good session', async () => {
  const client = await signUp(portal.url);
  const forge = (headers: Record<string, string | undefined>) =>
    client.send('POST', '/api/apps', { name: 'forged' }, headers);
  for (const headers of [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: undefined },
    { origin: portal.url.replace('127.0.0.1', 'localhost') },
    { origin: undefined, 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
  ])
    expect(await forge(headers)).toMatchObject({ status: 403, body: { code: 'origin-refused' } });
  expect((await client.get<unknown[]>('/api/apps')).body).toEqual([]);
  expect((await forge({ origin: undefined, 'sec-fetch-site': 'same-origin' })).status).toBe(201);
});

test('without a session there is nothing, and without the right of an operator nothing of theirs', async () => {
  const nobody = makePortalClient(portal.url);
  for (const path of ['/api/session', '/api/apps', '/api/audit', '/api/operator/accounts'])
    expect(await nobody.get(path)).toMatchObject({ status: 401, body: { code: 'session-missing' } });
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client);
  for (const path of ['/api/operator/accounts', '/api/operator/apps', '/api/operator/dead-letters'])
    expect(await client.get(path)).toMatchObject({ status: 403, body: { code: 'operator-required' } });
  const approved = await client.send('POST', `/api/operator/apps/${clientId}/approve`);
  expect(approved).toMatchObject({ status: 403, body: { code: 'operator-required' } });
});

test('a deleted account is gone at once, and its address may be signed up with again', async () => {
  const client = await signUp(portal.url);
  await createApp(client);
  const refused = await client.send('POST', '/api/account/delete', { password: 'wrong' });
  expect(refused.status).toBe(401);
  const token = client.token();
  expect((await client.send('POST', '/api/account/delete', { password: PASSWORD })).status).toBe(204);
  client.use(token);
  expect((await client.get('/api/session')).status).toBe(401);
  const credentials = { email: client.email, password: 'quite another password' };
  expect((await client.send('POST', '/api/sign-in', { ...credentials, password: PASSWORD })).status).toBe(
    401,
  );
  await client.send('POST', '/api/sign-up', credentials);
  expect((await client.send('POST', '/api/sign-in', credentials)).status).toBe(200);
  expect((await client.get<unknown[]>('/api/apps')).body).toEqual([]);
});
