import { openViews } from '#shared/stores/replay/open-views.ts';
import { makeSessions } from '../../../services/developer-portal/features/sessions/sessions.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  createApp,
  makePortalClient,
  PASSWORD,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two portals over one broker and one Redis, and people who sign up, in and out, some of
// them attackers. Nobody reaches the data of another account, and an ended session stays ended.

const stores = testStores(11);
const { config } = stores;
let portal: RunningPortal;
let other: RunningPortal;

beforeAll(async () => {
  await stores.replay();
  [portal, other] = await Promise.all([stores.use(startPortal(config)), stores.use(startPortal(config))]);
});

test('two sign-ups with one address at once, at two portals, make one account', async () => {
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
  expect(answers.map(({ status, body }) => [status, body])).toEqual(Array(4).fill([202, undefined]));
  const all = await openViews(stores.redis).accounts.list();
  expect(all.filter(({ email }) => email.toLowerCase() === client.email)).toHaveLength(1);
});

test('signing up again neither reveals that an address is known nor takes its account over', async () => {
  const known = await signUp(portal.url);
  const stranger = makePortalClient(portal.url);
  const again = { email: known.email, password: 'another password' };
  expect(await stranger.send('POST', '/api/sign-up', again)).toMatchObject({ status: 202, body: undefined });
  const attempts = await Promise.all([
    stranger.send<{ instance: string }>('POST', '/api/sign-in', again),
    stranger.send<{ instance: string }>('POST', '/api/sign-in', { ...again, email: 'nobody@example.com' }),
  ]);
  const [one, two] = attempts.map(({ status, body: { instance: _, ...body } }) => ({ status, body }));
  expect(one).toMatchObject({ status: 401, body: { code: 'credentials-invalid' } });
  expect(one).toEqual(two);
});

test('scripts and other sites cannot read the cookie, and Redis does not hold its token', async () => {
  const client = makePortalClient(portal.url);
  const credentials = { email: client.email, password: PASSWORD };
  await client.send('POST', '/api/sign-up', credentials);
  const { headers } = await client.send('POST', '/api/sign-in', credentials);
  expect(headers.get('set-cookie')).toMatch(
    /^rolecall_session=acc_[\da-f]{24}\.[\w-]{43}; Max-Age=\d+; Path=\/; .*HttpOnly; SameSite=Strict$/,
  );
  const keys = await stores.redis.keys('*');
  expect(keys.filter((key) => key.startsWith('sessions:')).length).toBeGreaterThan(0);
  expect(keys.join()).not.toContain(client.token()?.split('.')[1]);
});

test('a session is refused after a sign-out, a new sign-in or a new password', async () => {
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

type OpenSession = { sessionId: string; browser: string; address: string; usedAt: string; current: boolean };

test('an account lists its sessions and ends one or all others, and every portal refuses these at once', async () => {
  const client = await signUp(portal.url);
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
  const signInAt = async ({ url }: RunningPortal) => {
    const session = makePortalClient(url, client.email);
    const credentials = { email: client.email, password: PASSWORD };
    await session.send('POST', '/api/sign-in', credentials, { 'user-agent': agent });
    return session;
  };
  const [second, third] = [await signInAt(other), await signInAt(portal)];
  const list = async () => (await client.get<OpenSession[]>('/api/sessions')).body;
  const statuses = async () => {
    const answers = await Promise.all([client, second, third].map((one) => one.get('/api/session')));
    return answers.map(({ status }) => status);
  };
  const sessions = await list();
  expect(sessions.map(({ current }) => current)).toEqual([true, false, false]);
  expect(sessions[1]).toMatchObject({ browser: 'Firefox on Linux', address: '127.0.0.1' });
  expect(JSON.stringify(sessions)).not.toContain(client.token());

  const [{ sessionId = '' } = {}] = (await second.get<OpenSession[]>('/api/sessions')).body;
  const stranger = await signUp(portal.url);
  for (const id of [sessionId, sessionId.slice(0, 8), 'x'])
    expect((await stranger.send('DELETE', `/api/sessions/${id}`)).status).toBe(404);
  await stranger.send('POST', '/api/sessions/end-others');
  expect(await statuses()).toEqual([200, 200, 200]);

  expect((await client.send('DELETE', `/api/sessions/${sessionId}`)).status).toBe(204);
  expect((await client.send('DELETE', `/api/sessions/${sessionId}`)).status).toBe(404);
  expect(await statuses()).toEqual([200, 401, 200]);
  expect((await client.send('POST', '/api/sessions/end-others')).status).toBe(204);
  expect(await statuses()).toEqual([200, 401, 401]);
  expect(await list()).toHaveLength(1);
});

test('an account has at most 50 sessions, and another one ends the oldest', async () => {
  const { redis } = stores;
  const { accounts } = openViews(redis);
  const sessions = makeSessions({ redis, accounts, now: Date.now }, { idleMs: 60_000, lifeMsMax: 60_000 });
  const client = await signUp(portal.url);
  const account = await accounts.findByEmail(client.email);
  if (!account) throw new Error('the account is missing');
  const tokens = [];
  for (let i = 0; i < 51; i++) tokens.push(await sessions.open(account, { browser: 'x', address: 'y' }));
  expect(await sessions.list(account)).toHaveLength(50);
  expect((await client.get('/api/session')).status).toBe(401);
  expect(await sessions.find(tokens.at(-1) ?? '')).toBeDefined();
});

test('a session ends when it is idle, and in any case after its maximum lifetime', async () => {
  const brief = await stores.use(
    startPortal(config, { PORTAL_SESSION_IDLE_HOURS: '0.0005', PORTAL_SESSION_HOURS: '0.001' }),
  );
  const client = await signUp(brief.url);
  const token = client.token();
  await waitUntil('the session to end although it is used', async () => {
    client.use(token);
    return (await client.get('/api/session')).status === 401;
  });
  const idle = await signUp(brief.url);
  await waitUntil('the idle session to be gone', async () => {
    const sessions = await stores.redis.keys('sessions:*');
    const ends = await Promise.all(sessions.map((key) => stores.redis.pttl(key)));
    return ends.every((ms) => ms < 0 || ms > 10_000);
  });
  expect((await idle.get('/api/session')).status).toBe(401);
});

test('guessing passwords is slowed down, and the owner at another address is not affected', async () => {
  const guarded = await stores.use(startPortal(config, { TRUSTED_PROXIES: '127.0.0.0/8,::1' }));
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

test('many networks of one IPv6 site share one limit for guessing passwords', async () => {
  const guarded = await stores.use(startPortal(config, { TRUSTED_PROXIES: '127.0.0.0/8,::1' }));
  const client = await signUp(portal.url);
  const guess = (address: string) =>
    makePortalClient(guarded.url).send(
      'POST',
      '/api/sign-in',
      { email: client.email, password: 'a guess, and wrong' },
      { 'x-forwarded-for': address },
    );
  const statuses = [];
  for (let i = 0; i < 11; i++) statuses.push((await guess(`2001:db8:1:${i}::1`)).status);
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect((await guess('2001:db8:2:1::1')).status).toBe(401);
});

test('a write from another origin is refused, even with a valid session', async () => {
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

test('requests without a session are refused, and operator requests without operator rights', async () => {
  const nobody = makePortalClient(portal.url);
  for (const path of ['/api/session', '/api/apps', '/api/audit', '/api/operator/accounts'])
    expect(await nobody.get(path)).toMatchObject({ status: 401, body: { code: 'session-missing' } });
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client);
  for (const path of ['/api/operator/accounts', '/api/operator/apps'])
    expect(await client.get(path)).toMatchObject({ status: 403, body: { code: 'operator-required' } });
  const approved = await client.send('POST', `/api/operator/apps/${clientId}/approve`);
  expect(approved).toMatchObject({ status: 403, body: { code: 'operator-required' } });
});

test('a deleted account is gone at once, and its address can sign up again', async () => {
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
