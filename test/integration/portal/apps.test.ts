import { randomBytes, randomUUID } from 'node:crypto';
import { hashApiKey } from '#shared/contracts/apps/api-key.ts';
import { audit } from '#shared/contracts/apps/audit.ts';
import { account, clientApp } from '#shared/contracts/apps/client-app.ts';
import { makeSecretBox, parseKeyRing } from '#shared/secret-box.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { newKey } from '../../../services/developer-portal/features/apps/credentials.ts';
import { makeWork } from '../../../services/developer-portal/features/work.ts';
import { dumpRedis } from '../../support/infrastructure/dump-redis.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { A_LOCAL_CHECK, type RunningGateway, startGateway } from '../../support/systems/start-gateway.ts';
import {
  type CreatedApp,
  createApp,
  makePortalClient,
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  SECRET_KEYS,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: two portals and a gateway over one broker and one Redis. Developers make apps and keys,
// many at a time. Limits hold exactly, nothing is lost or made twice, revoked keys stop working,
// and all of it survives a wiped Redis.

const stores = testStores(12);
const { config } = stores;
let portal: RunningPortal;
let other: RunningPortal;
let gateway: RunningGateway;

beforeAll(async () => {
  await stores.replay();
  [portal, other, gateway] = await Promise.all([
    stores.use(startPortal(config)),
    stores.use(startPortal(config)),
    stores.use(startGateway(config)),
  ]);
});

/** Actions of an operator, by the operator's command. */
const operate = (box = makeSecretBox(parseKeyRing(SECRET_KEYS))) =>
  makeWork({
    redis: stores.redis,
    publish: stores.kafka.publish,
    box,
    now: Date.now,
  });
const ask = (apiKey: string) =>
  fetch(`${gateway.url}/access-control/check-roles`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ ...A_LOCAL_CHECK, async: true }),
  });
const statusesOf = (answers: readonly { status: number }[]) =>
  Object.fromEntries(
    [...Map.groupBy(answers, ({ status }) => status)].map(([status, list]) => [status, list.length]),
  );
type App = {
  readonly name: string;
  readonly scope: { readonly state: string };
  readonly keys: readonly { keyId: string; permissions: string[]; revokedAt?: string; expiresAt?: string }[];
  readonly secrets: readonly unknown[];
};
const readApp = async (client: PortalClient, clientId: string): Promise<App> =>
  (await client.get<App>(`/api/apps/${clientId}`)).body;

/**
 * Sends requests at once, in rounds until the store was fast enough for each: a request that ends
 * in 503 may or may not have had its effect, and holds its place under the limit for a while.
 */
const allAtOnce = <T extends { readonly answers: readonly { readonly status: number }[] }>(
  round: () => Promise<T>,
): Promise<T> =>
  waitUntil('a round without a 503', async () => {
    const done = await round();
    return done.answers.every(({ status }) => status !== 503) && done;
  });

test('50 creations at once, at two portals, with a limit of 5 make exactly 5', async () => {
  const { client, there, answers } = await allAtOnce(async () => {
    const client = await signUp(portal.url);
    const there = client.at(other.url);
    const send = (i: number) =>
      (i % 2 ? client : there).hasty().send('POST', '/api/apps', { name: `app ${i}` });
    return { client, there, answers: await Promise.all(Array.from({ length: 50 }, (_, i) => send(i))) };
  });
  expect(statusesOf(answers)).toEqual({ 201: 5, 409: 45 });
  const { body } = await client.get<{ clientId: string }[]>('/api/apps');
  expect(body).toHaveLength(5);
  expect(await client.send('POST', '/api/apps', { name: 'sixth' })).toMatchObject({
    status: 409,
    body: { code: 'limit-reached' },
  });
  await there.send('DELETE', `/api/apps/${body[0]?.clientId}`);
  expect((await client.send('POST', '/api/apps', { name: 'in its place' })).status).toBe(201);
});

test('50 marketplace keys at once, over two apps, with a limit of 5 make exactly 5, and an expired one makes room', async () => {
  const { client, apps, create, answers } = await allAtOnce(async () => {
    const client = await signUp(portal.url);
    const apps = [await createApp(client), await createApp(client)];
    const create = (i: number, by = client) =>
      by
        .at(i % 2 ? portal.url : other.url)
        .send<{ keyId: string }>('POST', `/api/apps/${apps[i % 2]?.clientId}/keys`, {
          name: `listing ${i}`,
          marketplace: true,
        });
    const sent = Array.from({ length: 50 }, (_, i) => create(i, client.hasty()));
    return { client, apps, create, answers: await Promise.all(sent) };
  });
  expect(statusesOf(answers)).toEqual({ 201: 5, 409: 45 });
  const made = answers.findIndex(({ status }) => status === 201);
  const path = `/api/apps/${apps[made % 2]?.clientId}/keys/${answers[made]?.body.keyId}`;
  // A key that replaces another one does not count beside it.
  expect((await client.send('POST', `${path}/roll`, { overlapHours: 1 })).status).toBe(201);
  expect((await create(0)).status).toBe(409);
  expect((await client.send('DELETE', path)).status).toBe(204);
  expect((await create(0)).status).toBe(409);
  const keys = (await readApp(client, apps[made % 2]?.clientId ?? '')).keys;
  const live = keys.filter((key) => key.revokedAt === undefined).at(-1);
  await client.send('DELETE', `/api/apps/${apps[made % 2]?.clientId}/keys/${live?.keyId}`);
  expect((await create(0)).status).toBe(201);
});

test('secrets are re-encrypted with a new key, keep their values, and no longer depend on the old key', async () => {
  const client = await signUp(portal.url);
  const { clientId, webhookSecret } = await createApp(client);
  const anew = `200:${randomBytes(32).toString('base64')}`;
  const { apps } = operate(makeSecretBox(parseKeyRing(`${SECRET_KEYS},${anew}`)));
  await apps.resealSecrets('operator', clientId);
  const { version, webhookSecrets } = await apps.read(clientId);
  const opened = makeSecretBox(parseKeyRing(anew)).open(webhookSecrets[0]?.encrypted ?? '', clientId);
  expect(opened).toBe(webhookSecret);
  await apps.resealSecrets('operator', clientId);
  expect((await apps.read(clientId)).version).toBe(version);
});

test('19 keys made at once at two portals all exist, and no more can be made', async () => {
  const { client, clientId, keyId, answers } = await allAtOnce(async () => {
    const client = await signUp(portal.url);
    const { clientId, keyId } = await createApp(client);
    const create = (i: number) =>
      client
        .hasty()
        .at(i % 2 ? portal.url : other.url)
        .send<{ keyId: string }>('POST', `/api/apps/${clientId}/keys`, { name: `key ${i}` });
    const sent = Array.from({ length: 30 }, (_, i) => create(i));
    return { client, clientId, keyId, answers: await Promise.all(sent) };
  });
  // The free tier has 20 live keys, of which the app was made with one.
  expect(statusesOf(answers)).toEqual({ 201: 19, 409: 11 });
  const { keys } = await readApp(client, clientId);
  const made = answers.filter(({ status }) => status === 201).map(({ body }) => body.keyId);
  expect(keys.map((key) => key.keyId).sort()).toEqual([keyId, ...made].sort());
  const roll = `/api/apps/${clientId}/keys/${keyId}/roll`;
  expect((await client.send('POST', roll, { overlapHours: 1 })).status).toBe(201);
  expect((await client.send('DELETE', `/api/apps/${clientId}/keys/${made[0]}`)).status).toBe(204);
  await operate().apps.createKey('operator', clientId, newKey(), {
    name: 'in its place',
    marketplace: false,
  });
  await expect(
    operate().apps.createKey('operator', clientId, newKey(), { name: 'one more', marketplace: false }),
  ).rejects.toMatchObject({ code: 'limit-reached' });
});

test('setting two tiers at once leaves an account and all its apps on the same tier, even if an app is deleted meanwhile', async () => {
  const client = await signUp(portal.url);
  const created = [await createApp(client), await createApp(client), await createApp(client)];
  const { accountId } = (await client.get<{ account: { accountId: string } }>('/api/session')).body.account;
  const [one, two] = [operate(), operate()];
  const limitOf = async (apiKey: string) => Number((await ask(apiKey)).headers.get('x-ratelimit-limit'));
  const kept = created.slice(1);
  for (const { apiKey } of kept) expect(await limitOf(apiKey)).toBe(10);
  await Promise.all([
    one.accountWork.setTier('operator', accountId, 'paid', undefined),
    two.accountWork.setTier('operator', accountId, 'enterprise', undefined),
    one.apps.remove('operator', created[0]?.clientId ?? ''),
  ]);
  const { tier, limits } = (
    await client.get<{ account: { tier: string; limits: { requestsPerSecond: number } } }>('/api/session')
  ).body.account;
  expect(limits.requestsPerSecond).toBe(tier === 'paid' ? 15 : 500);
  for (const { apiKey, clientId } of kept) {
    await waitUntil(
      'the limits of the tier',
      async () => (await limitOf(apiKey)) === limits.requestsPerSecond,
    );
    expect((await client.get<{ limits: object }>(`/api/apps/${clientId}`)).body.limits).toEqual(limits);
  }
});

test('a double submit writes once and gets the same answer, and another body with the key is refused', async () => {
  const client = await signUp(portal.url);
  const twice = async <T>(path: string, body: unknown): Promise<T> => {
    const headers = { 'idempotency-key': randomUUID() };
    const [one, two] = await Promise.all([
      client.send<T>('POST', path, body, headers),
      client.at(other.url).send<T>('POST', path, body, headers),
    ]);
    expect([one?.status, two?.status]).toEqual([201, 201]);
    expect(one?.body).toEqual(two?.body);
    const reused = await client.send('POST', path, { name: 'something else', overlapHours: 7 }, headers);
    expect(reused.status).toBe(422);
    return one?.body as T;
  };
  const app = await twice<CreatedApp>('/api/apps', { name: 'once' });
  expect((await client.get<unknown[]>('/api/apps')).body).toHaveLength(1);
  const key = await twice<{ keyId: string }>(`/api/apps/${app.clientId}/keys`, { name: 'once' });
  await twice(`/api/apps/${app.clientId}/keys/${key.keyId}/roll`, { overlapHours: 1 });
  await twice(`/api/apps/${app.clientId}/secret/rotate`, { overlapHours: 1 });
  const { keys, secrets } = await readApp(client, app.clientId);
  expect([keys.length, secrets.length]).toEqual([3, 2]);
  const missing = await client.send('POST', '/api/apps', { name: 'x' }, { 'idempotency-key': undefined });
  expect(missing).toMatchObject({ status: 400, body: { code: 'idempotency-key-missing' } });
});

test('an account writes as much as its budget allows over all portals, and can still read and revoke', async () => {
  const { client, clientId, keyId, answers } = await allAtOnce(async () => {
    const client = await signUp(portal.url);
    const { clientId, keyId } = await createApp(client);
    const rename = (i: number) =>
      client
        .hasty()
        .at(i % 2 ? portal.url : other.url)
        .send('PATCH', `/api/apps/${clientId}`, { name: 'the same' });
    const sent = Array.from({ length: 130 }, (_, i) => rename(i));
    return { client, clientId, keyId, answers: await Promise.all(sent) };
  });
  // Creating the app was the first of 120 writes.
  expect(statusesOf(answers)).toEqual({ 200: 119, 429: 11 });
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body).toMatchObject({ code: 'rate-limited' });
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await client.get(`/api/apps/${clientId}`)).status).toBe(200);
  expect((await client.send('DELETE', `/api/apps/${clientId}/keys/${keyId}`)).status).toBe(204);
});

test('deleted apps leave nothing in Redis once they are erased, and a rebuild does not restore them', async () => {
  const client = await signUp(portal.url);
  const { clientApps } = openViews(stores.redis);
  const made: CreatedApp[] = [];
  const cycle = async () => {
    const app = await createApp(client);
    made.push(app);
    await client.send('DELETE', `/api/apps/${app.clientId}`);
  };
  await cycle();
  const [first] = made;
  expect((await clientApps.read(first?.clientId ?? ''))?.webhookSecrets).toHaveLength(1);
  for (let i = 0; i < 10; i++) await cycle();
  const eraseAll = async () => {
    const ended = await clientApps.listEnded(Date.now(), 1_000);
    for (const id of ended)
      await clientApps.erase(id, Date.now(), (key) => stores.kafka.erase(clientApp, key));
    return ended;
  };
  expect(await eraseAll()).toEqual(expect.arrayContaining(made.map(({ clientId }) => clientId)));
  const idsIn = (dump: string) => made.filter(({ clientId }) => dump.includes(clientId));
  const kept = async () => {
    // Left out: Redis keys with an expiry of their own, and the audit trails of the account and of
    // all, which are bounded.
    const lines = (await dumpRedis(stores.connection)).split('\n');
    return idsIn(
      lines
        .filter((line) => !/^(audit:\w+:(account|all)|once|throttle|lease|leased|usage)/.test(line))
        .join('\n'),
    );
  };
  expect(await kept()).toEqual([]);
  await stores.redis.flushdb();
  await stores.replay();
  for (const { clientId } of made)
    expect(await clientApps.read(clientId)).toMatchObject({ deletedAt: expect.any(String) });
  expect(await clientApps.findKey(hashApiKey(first?.apiKey ?? ''))).toBeUndefined();
  await eraseAll();
  expect(await kept()).toEqual([]);
});

test('a refused request leaves nothing in Redis', async () => {
  const client = await signUp(portal.url);
  const { clientId, keyId } = await createApp(client);
  await client.send('DELETE', `/api/apps/${clientId}/keys/${keyId}`);
  const plans = async () => (await stores.redis.keys('once:*')).length;
  const before = await plans();
  const app = `/api/apps/${clientId}`;
  expect((await client.send('POST', `${app}/keys/nope/roll`, { overlapHours: 1 })).status).toBe(404);
  expect((await client.send('POST', `${app}/keys/${keyId}/roll`, { overlapHours: 1 })).status).toBe(409);
  const expired = { name: 'late', expiresAt: '2020-01-01T00:00:00Z' };
  expect((await client.send('POST', `${app}/keys`, expired)).status).toBe(422);
  expect((await client.send('POST', `${app}/deliveries/nope/resend`)).status).toBe(404);
  expect(await plans()).toBe(before);
});

test("another account's app gets the same answer as an unknown app", async () => {
  const owner = await signUp(portal.url);
  const thief = await signUp(portal.url);
  const { clientId, keyId, apiKey } = await createApp(owner);
  const paths = (id: string) => `/api/apps/${id}`;
  const requests: readonly ['GET' | 'POST' | 'PATCH' | 'DELETE', string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { name: 'mine' }],
    ['POST', '/keys', { name: 'mine' }],
    ['DELETE', `/keys/${keyId}`],
    ['POST', `/keys/${keyId}/roll`, { overlapHours: 0 }],
    ['POST', '/secret/rotate', { overlapHours: 0 }],
    ['POST', '/scope', { purpose: 'mine' }],
    ['GET', '/usage'],
    ['GET', '/deliveries'],
    ['GET', '/deliveries/some-id'],
    ['POST', '/deliveries/some-id/resend'],
    ['POST', '/deliveries/resend-failed', { since: '2026-11-21T00:00:00Z' }],
    ['POST', '/test-event', { callbackUrl: 'http://127.0.0.1:9/x' }],
    ['POST', '/try', { apiKey, check: A_LOCAL_CHECK }],
    ['GET', '/audit'],
    ['DELETE', ''],
  ];
  for (const [method, path, body] of requests) {
    const [theirs, nobodys] = await Promise.all(
      [clientId, 'app_nobody'].map((id) =>
        method === 'GET'
          ? thief.get<{ instance: string }>(paths(id) + path)
          : thief.send<{ instance: string }>(method, paths(id) + path, body),
      ),
    );
    expect([method, path, theirs?.status]).toEqual([method, path, 404]);
    expect({ ...theirs?.body, instance: '' }).toEqual({ ...nobodys?.body, instance: '' });
  }
  expect(await readApp(owner, clientId)).toMatchObject({ name: 'An app', scope: { state: 'none' } });
});

test('a key has the chosen permissions, all by default, check alone for a marketplace; its replacement keeps them', async () => {
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client);
  const path = `/api/apps/${clientId}/keys`;
  const create = async (body: object) =>
    (await client.send<{ keyId: string; apiKey: string }>('POST', path, { name: 'k', ...body })).body;
  const all = await create({});
  const listing = await create({ marketplace: true });
  const chosen = await create({ permissions: ['manage', 'read', 'read'] });
  const roll = `${path}/${chosen.keyId}/roll`;
  const fresh = (await client.send<{ keyId: string }>('POST', roll, { overlapHours: 1 })).body;
  const keys = new Map((await readApp(client, clientId)).keys.map((key) => [key.keyId, key.permissions]));
  expect([all, listing, chosen, fresh].map(({ keyId }) => keys.get(keyId))).toEqual([
    ['check', 'read', 'manage'],
    ['check'],
    ['read', 'manage'],
    ['read', 'manage'],
  ]);
  expect(await openViews(stores.redis).clientApps.findKey(hashApiKey(chosen.apiKey))).toMatchObject({
    keyId: chosen.keyId,
    permissions: ['read', 'manage'],
    expiresAtMs: expect.any(Number),
  });
});

test('a key works once its scope is approved, and stops within a second of rolling, revocation, expiry or deletion of its app', async () => {
  const client = await signUp(portal.url);
  const { clientId, keyId, apiKey } = await createApp(client);
  const { accountId } = (await client.get<{ account: { accountId: string } }>('/api/session')).body.account;
  // The repeated requests must not meet the rate limit.
  await operate().accountWork.setTier('operator', accountId, 'enterprise', undefined);
  const purpose = 'gate our forum';
  expect((await ask(apiKey)).status).toBe(403);
  await client.send('POST', `/api/apps/${clientId}/scope`, { purpose });
  expect(await readApp(client, clientId)).toMatchObject({ scope: { state: 'requested', purpose } });
  await operate().apps.approveScope('operator', clientId);
  await waitUntil('the approval to take effect', async () => (await ask(apiKey)).status === 202);

  const untilRefused = (what: string, key: string) =>
    waitUntil(what, async () => (await ask(key)).status === 401);
  const roll = `/api/apps/${clientId}/keys/${keyId}/roll`;
  const fresh = (await client.send<{ keyId: string; apiKey: string }>('POST', roll, { overlapHours: 0 }))
    .body;
  await untilRefused('the rolled key to be refused', apiKey);
  expect((await ask(fresh.apiKey)).status).toBe(202);
  expect((await client.send('POST', roll, { overlapHours: 0 })).status).toBe(409);
  await client.send('DELETE', `/api/apps/${clientId}/keys/${fresh.keyId}`);
  await untilRefused('the revoked key to be refused', fresh.apiKey);
  let lifeMs = 1_500;
  const expiring = await waitUntil('a key that is accepted before it expires', async () => {
    lifeMs *= 2;
    const expiresAt = new Date(Date.now() + lifeMs).toISOString();
    const { body } = await client.send<{ apiKey: string }>('POST', `/api/apps/${clientId}/keys`, {
      name: 'brief',
      expiresAt,
    });
    return (await ask(body.apiKey)).status === 202 && body.apiKey;
  });
  await untilRefused('the expired key to be refused', expiring);
  const last = await client.send<{ apiKey: string }>('POST', `/api/apps/${clientId}/keys`, { name: 'last' });
  expect((await ask(last.body.apiKey)).status).toBe(202);
  await client.send('DELETE', `/api/apps/${clientId}`);
  await untilRefused('the key of the deleted app to be refused', last.body.apiKey);
  expect((await client.get(`/api/apps/${clientId}`)).status).toBe(404);
});

test('a check can be tried with a key of the app, and the portal returns the answer of the gateway unchanged', async () => {
  const client = await signUp(portal.url);
  const tried = await stores.use(startPortal(config, { GATEWAY_URL: gateway.url }));
  const here = client.at(tried.url);
  const { clientId, keyId, apiKey } = await createApp(here);
  const send = (body: unknown) =>
    here.send<{ status: number; body: { code?: string }; curl: string }>(
      'POST',
      `/api/apps/${clientId}/try`,
      body,
    );
  const { body } = await send({
    apiKey,
    check: { ...A_LOCAL_CHECK, account: `it's ${A_LOCAL_CHECK.account}` },
  });
  expect(body).toMatchObject({ status: 403, body: { code: 'scope-not-approved' } });
  expect(body.curl).toContain('$ROLECALL_API_KEY');
  expect(body.curl).toContain(`it'\\''s`);
  expect(JSON.stringify(body)).not.toContain(apiKey);
  await here.send('DELETE', `/api/apps/${clientId}/keys/${keyId}`);
  expect((await send({ apiKey, check: A_LOCAL_CHECK })).body).toMatchObject({ status: 401 });
  expect((await send({ apiKey: (await createApp(here)).apiKey, check: A_LOCAL_CHECK })).status).toBe(422);
  for (const more of [{ async: true }, { callbackUrl: 'http://127.0.0.1:1/' }])
    expect((await send({ apiKey, check: { ...A_LOCAL_CHECK, ...more } })).body).toMatchObject({
      status: 401,
    });
  const away = await stores.use(startPortal(config, { GATEWAY_URL: 'http://127.0.0.1:1' }));
  const failed = await client.at(away.url).send('POST', `/api/apps/${clientId}/try`, { apiKey, check: {} });
  expect(failed).toMatchObject({ status: 502, body: { code: 'gateway-unavailable' } });
});

const SCRIPT = `<script>alert(1)</script>"><img src=x onerror=alert(1)>`;

test('a script in any text field comes back as text, in JSON that no browser runs', async () => {
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client, SCRIPT);
  await client.send('POST', `/api/apps/${clientId}/keys`, { name: SCRIPT });
  await client.send('POST', `/api/apps/${clientId}/scope`, { purpose: SCRIPT });
  await operate().apps.rejectScope('operator', clientId, SCRIPT);
  const { body, headers } = await client.get<App & { scope: object }>(`/api/apps/${clientId}`);
  expect(body).toMatchObject({
    name: SCRIPT,
    scope: { state: 'rejected', purpose: SCRIPT, reason: SCRIPT },
    keys: [{}, { name: SCRIPT }],
  });
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
  const email = `${SCRIPT.replaceAll(/[\s@]/g, '')}@example.com`;
  const signedUp = await makePortalClient(portal.url).send('POST', '/api/sign-up', {
    email,
    password: PASSWORD,
  });
  expect([202, 422]).toContain(signedUp.status);
});

const long = (length: number) => '𝒜'.repeat(length);

test.each([
  ['an app without a name', '', { name: ' ' }, '/name'],
  ['an app with too long a name', '', { name: long(65) }, '/name'],
  ['a name with a control character', '', { name: 'a\u0000b' }, '/name'],
  ['a name with a right-to-left override', '', { name: '\u202eevil' }, '/name'],
  ['a name of invisible characters only', '', { name: '\u200b\u2060 \u3164' }, '/name'],
  ['a name with a lone surrogate', '', { name: 'a\ud800' }, '/name'],
  ['a name that is not a string', '', { name: 5 }, '/name'],
  ['an unknown member', '', { name: 'x', __proto__x: 1 }, '/__proto__x'],
  ['a body that is not an object', '', [], ''],
  ['a key that expires in the past', '/keys', { name: 'k', expiresAt: '2020-01-01T00:00:00Z' }, '/expiresAt'],
  ['a key whose expiry is not a date', '/keys', { name: 'k', expiresAt: 'soon' }, '/expiresAt'],
  ['a key without a permission', '/keys', { name: 'k', permissions: [] }, '/permissions'],
  ['a key with an unknown permission', '/keys', { name: 'k', permissions: ['write'] }, '/permissions/0'],
  [
    'a marketplace key that may read',
    '/keys',
    { name: 'k', marketplace: true, permissions: ['check', 'read'] },
    '/permissions',
  ],
  ['too long an overlap', '/secret/rotate', { overlapHours: 169 }, '/overlapHours'],
  ['an overlap of half an hour', '/secret/rotate', { overlapHours: 0.5 }, '/overlapHours'],
  ['a scope without a purpose', '/scope', { purpose: '' }, '/purpose'],
  ['too long a purpose', '/scope', { purpose: long(1_001) }, '/purpose'],
  ['a resend whose start is not a date', '/deliveries/resend-failed', { since: 'yesterday' }, '/since'],
  ['a test event whose URL is invalid', '/test-event', { callbackUrl: 'nowhere' }, '/callbackUrl'],
  ['a test event to a private address', '/test-event', { callbackUrl: 'https://10.0.0.1/' }, '/callbackUrl'],
  ['a check that is not an object', '/try', { apiKey: 'x', check: 'x' }, '/check'],
])('%s is refused with a message for its field', async (_name, path, body, pointer) => {
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client);
  const answer = await client.send('POST', `/api/apps${path === '' ? '' : `/${clientId}${path}`}`, body);
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer, detail: expect.any(String) }] } });
  expect(JSON.stringify(answer.body)).not.toMatch(
    /invalid input|expected |unrecognized|invalid option|<=|>=/i,
  );
});

test('each unknown member and each missing member is listed', async () => {
  const client = await signUp(portal.url);
  expect((await client.send('POST', '/api/apps', { x: 1, y: 2 })).body).toMatchObject({
    errors: [
      { pointer: '/name', code: 'required' },
      { pointer: '/x', code: 'unknown-member' },
      { pointer: '/y', code: 'unknown-member' },
    ],
  });
});

test('HEAD is refused', async () => {
  const { status, headers } = await fetch(`${portal.url}/api/apps`, { method: 'HEAD' });
  expect({ status, allow: headers.get('allow'), version: headers.get('rolecall-version') }).toEqual({
    status: 405,
    allow: 'GET, POST',
    version: '1',
  });
});

test('bodies that are not JSON, of another media type or too large are refused', async () => {
  const client = await signUp(portal.url);
  const send = (body: string, headers = {}) => client.send('POST', '/api/apps', body, headers);
  expect((await send('{')).status).toBe(400);
  expect((await send('name=x', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415);
  expect((await send(`{"name":"${'x'.repeat(300_000)}"}`)).status).toBe(413);
  expect((await send(JSON.stringify({ name: long(64) }))).status).toBe(201);
});

test('an unknown path is not found, and neither is a source file outside the page', async () => {
  // A name in a path is decoded only for a signed-in account.
  expect((await fetch(`${portal.url}/api/apps/%zz`)).status).toBe(401);
  expect((await (await signUp(portal.url)).get('/api/apps/%zz')).status).toBe(404);
  for (const path of ['/api/%zz', '/apps/%zz', '/assets/%zz', '/assets/page.test.ts'])
    expect([path, (await fetch(portal.url + path)).status]).toEqual([path, 404]);
  expect(portal.process.stdout()).not.toContain('"msg":"bug"');
  // The log alone: no warning of Node beside it.
  expect(portal.process.stderr()).toBe('');
});

test('the audit trail names the actor of each entry, newest first, and marks operators', async () => {
  const client = await signUp(portal.url);
  const { clientId, keyId } = await createApp(client);
  await client.send('PATCH', `/api/apps/${clientId}`, { name: 'renamed' });
  await client.send('PATCH', `/api/apps/${clientId}`, { name: 'renamed' });
  await client.send('DELETE', `/api/apps/${clientId}/keys/${keyId}`);
  type Entry = { at: string; actor: string; action: string; subject: string };
  const [revoked] = (await client.get<Entry[]>(`/api/apps/${clientId}/audit`)).body;
  const { apps, accountWork } = operate();
  // The portal estimates Redis's clock, so its entries may be dated some milliseconds ahead.
  await waitUntil("the portal's time", () => Date.now() > Date.parse(revoked?.at ?? ''));
  await apps.suspend('somebody@operators.example', clientId);
  const trail = async (path: string) =>
    (await client.get<Entry[]>(path)).body.map(({ actor, action, subject }) => [actor, action, subject]);
  const { accountId } = (await client.get<{ account: { accountId: string } }>('/api/session')).body.account;
  for (const _ of ['sent', 'sent again']) {
    await apps.rejectScope('operator', clientId, 'too vague');
    await accountWork.setTier('operator', accountId, 'paid', undefined);
  }
  const ofApp = [
    ['operator', 'scope-rejected', clientId],
    ['operator', 'app-suspended', clientId],
    [client.email, 'key-revoked', keyId],
    [client.email, 'app-renamed', clientId],
    [client.email, 'app-created', clientId],
  ];
  expect(await trail(`/api/apps/${clientId}/audit`)).toEqual(ofApp);
  const ofAccount = (await trail('/api/audit')).filter(([, action]) => action !== 'tier-paid');
  expect(ofAccount.slice(0, 5)).toEqual(ofApp);
  expect((await trail('/api/audit')).filter(([, action]) => action === 'tier-paid')).toHaveLength(1);
});

test('a wiped Redis gets back accounts, apps, keys, secrets, scopes, limits and audit trails', async () => {
  const client = await signUp(portal.url);
  const made = await createApp(client);
  const gone = await createApp(client);
  await client.send('POST', `/api/apps/${made.clientId}/scope`, { purpose: 'a purpose' });
  await client.send('POST', `/api/apps/${made.clientId}/secret/rotate`, { overlapHours: 24 });
  await client.send('POST', `/api/apps/${made.clientId}/keys`, { name: 'listing', marketplace: true });
  await client.send('DELETE', `/api/apps/${made.clientId}/keys/${made.keyId}`);
  await operate().apps.approveScope('operator', made.clientId);
  await client.send('DELETE', `/api/apps/${gone.clientId}`);
  const look = async () => ({
    session: (await client.get('/api/session')).body,
    apps: (await client.get('/api/apps')).body,
    app: await readApp(client, made.clientId),
    trail: (await client.get<{ action: string }[]>('/api/audit')).body.filter(
      ({ action }) => action !== 'signed-in',
    ),
    gone: (await client.get(`/api/apps/${gone.clientId}`)).status,
    places: await stores.redis.zrange(`places:apps:${await ownId()}`, '0', '-1'),
    marketplace: await stores.redis.zrange(`places:marketplace-keys:${await ownId()}`, '0', '-1'),
  });
  const ownId = async () =>
    (await client.get<{ account: { accountId: string } }>('/api/session')).body.account.accountId;
  const before = await look();
  await stores.redis.flushdb();
  expect((await client.hasty().get('/api/session')).status).toBeGreaterThanOrEqual(401);
  expect(
    (await client.hasty().send('POST', '/api/sign-in', { email: client.email, password: PASSWORD })).status,
  ).toBe(503);
  await stores.replay();
  await client.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD });
  expect(await look()).toEqual(before);
});

test('no key, secret, password or session is in any topic, in Redis or in the logs', async () => {
  const client = await signUp(portal.url);
  const app = await createApp(client);
  const rotated = await client.send<{ webhookSecret: string }>(
    'POST',
    `/api/apps/${app.clientId}/secret/rotate`,
    {
      overlapHours: 1,
    },
  );
  const rolled = await client.send<{ apiKey: string }>(
    'POST',
    `/api/apps/${app.clientId}/keys/${app.keyId}/roll`,
    {
      overlapHours: 1,
    },
  );
  await client.send('POST', '/api/account/password', {
    current: PASSWORD,
    next: 'a password nobody else has',
  });
  const secrets = {
    apiKey: app.apiKey.slice(13),
    rolledKey: rolled.body.apiKey.slice(13),
    webhookSecret: app.webhookSecret.replace('whsec_', ''),
    rotatedSecret: rotated.body.webhookSecret.replace('whsec_', ''),
    password: PASSWORD,
    newPassword: 'a password nobody else has',
    // Behind the id of its account.
    token: client.token()?.split('.')[1] ?? '',
  };
  const found: string[] = [];
  const search = (where: string, text: string) => {
    for (const [name, secret] of Object.entries(secrets))
      if (text.includes(secret.slice(0, 24))) found.push(`${name} in ${where}`);
  };
  for (const { name } of [account, clientApp, audit])
    await stores.kafka.readTopic({
      topic: name,
      apply: async (records) => {
        for (const { value } of records) search(name, value?.toString() ?? '');
      },
    });
  search('Redis', await dumpRedis(stores.connection));
  for (const { process } of [portal, other]) search('the log', process.stdout() + process.stderr());
  expect(found).toEqual([]);
});

test('the sign-in domains of an app are set as they are compared, and a bad one is named', async () => {
  const client = await signUp(portal.url);
  const { clientId, apiKey } = await createApp(client, 'shop');
  const put = (domains: readonly string[]) =>
    client.send('PUT', `/api/apps/${clientId}/domains`, { domains });
  expect(await put(['Shop.example', 'shop.example:8443'])).toMatchObject({
    status: 200,
    body: { domains: ['shop.example', 'shop.example:8443'] },
  });
  expect(await put(['shop.example', 'https://shop.example'])).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/domains', detail: expect.stringContaining('https://shop.example') }] },
  });
  const many = Array.from({ length: 21 }, (_, index) => `a${index}.example`);
  expect((await put(many)).status).toBe(422);
  // As a gateway reads them.
  expect((await openViews(stores.redis).clientApps.findKey(hashApiKey(apiKey)))?.app.domains).toEqual([
    'shop.example',
    'shop.example:8443',
  ]);
  expect(await put([])).toMatchObject({ status: 200, body: { domains: [] } });
});
