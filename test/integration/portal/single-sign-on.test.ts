import { randomUUID } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { type Person, prepareOpenId } from '../../support/fakes/openid-provider.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin } from '../../support/systems/run-admin.ts';
import type { SpawnedProcess } from '../../support/systems/spawn-process.ts';
import {
  makePortalClient,
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';

// Scenario: people sign in at a real OpenID provider, and others try to get into their accounts with
// answers of other sign-ins, and by signing up with their addresses first.

const stores = testStores(8);
const { config } = stores;
const admin = makeAdmin(config);
let openid: Awaited<ReturnType<typeof prepareOpenId>>;
let portal: RunningPortal;
let provider: SpawnedProcess;

beforeAll(async () => {
  await stores.replay();
  openid = await prepareOpenId();
  portal = await stores.use(startPortal(config, openid.environments[0]));
  const early = makePortalClient(portal.url).hasty();
  // The portal takes passwords, and looks the provider up once it is there.
  expect(await early.send('POST', '/api/single-sign-on/begin')).toMatchObject({ status: 503 });
  provider = await stores.use(openid.start());
});

type Begun = { readonly url: string; readonly attempt: string };
type Finished = {
  readonly account?: { readonly email: string };
  readonly attempt?: string;
  readonly code?: string;
};

const somebody = (email = `${randomUUID()}@example.com`): Person & { email: string } => ({
  sub: randomUUID(),
  email,
  email_verified: true,
});
const begin = async (client: PortalClient) =>
  (await client.send<Begun>('POST', '/api/single-sign-on/begin')).body;
const finish = (client: PortalClient, attempt: string, query: string, invitation?: string) =>
  client.send<Finished>('POST', '/api/single-sign-on', { attempt, query, ...(invitation && { invitation }) });

/** Signs a person in with a browser of their own. */
async function signIn(person: Person, client = makePortalClient(portal.url)) {
  const { url, attempt } = await begin(client);
  const answer = await finish(client, attempt, await openid.visit(url, person));
  return { client, ...answer };
}

const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * 30_000 });

test('a person with a verified address gets an account without a password, and finds it again', async () => {
  const person = somebody();
  const first = await signIn(person);
  expect(first).toMatchObject({
    status: 200,
    body: { account: { email: person.email, tier: 'free', hasPassword: false } },
  });
  await first.client.send('POST', '/api/apps', { name: 'An app' });
  const again = await signIn(person);
  expect((await again.client.get<unknown[]>('/api/apps')).body).toHaveLength(1);
  const tried = await makePortalClient(portal.url).send('POST', '/api/sign-in', {
    email: person.email,
    password: PASSWORD,
  });
  expect(tried.status).toBe(401);
  const change = { current: PASSWORD, next: 'another long password' };
  expect(await again.client.send('POST', '/api/account/password', change)).toMatchObject({ status: 409 });
});

test.each([
  ['no address', {}],
  ['an address that is not verified', { email: 'a@example.com', email_verified: false }],
  ['an address of which it does not say that it is verified', { email: 'a@example.com' }],
  ['something else as an address', { email: 'nobody', email_verified: true }],
])('refuses a person of whom the provider says %s', async (_, claims) => {
  const { client, status, body } = await signIn({ sub: randomUUID(), ...claims });
  expect({ status, code: body.code, token: client.token() }).toEqual({
    status: 401,
    code: 'credentials-invalid',
    token: undefined,
  });
});

test('refuses the answer to another sign-in, a changed one, and one that was used', async () => {
  const client = makePortalClient(portal.url);
  const person = somebody();
  const [mine, other] = [await begin(client), await begin(client)];
  const refused = async (attempt: string, query: string) => {
    const answer = await finish(client, attempt, query);
    expect(answer).toMatchObject({ status: 401, body: { code: 'credentials-invalid' } });
  };
  const changed = (query: string, change: (params: URLSearchParams) => void) => {
    const params = new URLSearchParams(query);
    change(params);
    return String(params);
  };
  // Another state: a stranger's answer in the victim's browser.
  const strangers = await openid.visit(other.url, somebody());
  await refused(mine.attempt, strangers);
  await refused(
    mine.attempt,
    changed(strangers, (params) => params.delete('state')),
  );
  // The right state with the code of another sign-in: PKCE does not fit.
  const state = new URL(mine.url).searchParams.get('state') ?? '';
  await refused(
    mine.attempt,
    changed(strangers, (params) => params.set('state', state)),
  );
  // Another nonce.
  const forged = new URL((await begin(client)).url);
  const { url, attempt } = await begin(client);
  const withNonce = new URL(url);
  withNonce.searchParams.set('nonce', forged.searchParams.get('nonce') ?? '');
  await refused(attempt, await openid.visit(withNonce.href, person));
  const answer = await openid.visit(mine.url, person);
  // The right code with the state of another sign-in, and with none.
  await refused(
    mine.attempt,
    changed(answer, (params) => params.set('state', 'of-another-sign-in')),
  );
  await refused(
    mine.attempt,
    changed(answer, (params) => params.delete('state')),
  );
  // Another issuer, and none.
  await refused(
    mine.attempt,
    changed(answer, (params) => params.set('iss', 'https://evil.example')),
  );
  await refused(
    mine.attempt,
    changed(answer, (params) => params.delete('iss')),
  );
  // An attempt that the portal did not make.
  await refused(`${mine.attempt.slice(0, -4)}AAAA`, answer);
  await refused('1.AAAA', answer);
  // The provider's refusal.
  await refused(mine.attempt, `error=access_denied&state=${state}&iss=${openid.environments[0].OIDC_ISSUER}`);
  // None of it used up the right answer, which works once.
  expect((await finish(client, mine.attempt, answer)).status).toBe(200);
  await refused(mine.attempt, answer);
});

test('does not give a person the account that a stranger made with their address, nor the stranger theirs', async () => {
  const stranger = await signUp(portal.url);
  const person = somebody(stranger.email);
  const refused = await signIn(person);
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(refused.client.token()).toBeUndefined();
  expect((await stranger.get('/api/session')).status).toBe(200);
  await admin('account', 'delete', person.email, '--vouch');
  expect((await signIn(person)).status).toBe(200);
  const credentials = { email: person.email, password: PASSWORD };
  await stranger.send('POST', '/api/sign-up', credentials);
  expect((await stranger.send('POST', '/api/sign-in', credentials)).status).toBe(401);
});

test('joins an account that an operator vouched for: its password and its sessions end', async () => {
  const developer = await signUp(portal.url);
  await admin('tier', 'set', developer.email, 'paid', '--vouch');
  const { status, body } = await signIn(somebody(developer.email.toUpperCase()));
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { account: { tier: 'paid', hasPassword: false } },
  });
  expect((await developer.get('/api/session')).status).toBe(401);
  const credentials = { email: developer.email, password: PASSWORD };
  expect((await developer.send('POST', '/api/sign-in', credentials)).status).toBe(401);
});

test('gets no password from an operator, who resets single sign-on first', async () => {
  const person = somebody();
  const { email } = person;
  const { client } = await signIn(person);
  const operator = await signUp(portal.url);
  const { value } = await admin('account', 'operator', operator.email, '--vouch');
  await operator.send('POST', '/api/sign-in', { email: operator.email, password: value['password'] });
  const { accountId = '' } = (await openViews(stores.redis).accounts.findByEmail(email)) ?? {};
  const make = () => operator.send('POST', `/api/operator/accounts/${accountId}/reset-link`);
  expect(await make()).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('signs in at the identity provider') },
  });
  for (const command of ['reset-link', 'reset-password', 'operator'])
    expect(await admin('account', command, email)).toMatchObject({
      exitCode: 1,
      value: { error: { code: 'conflict', message: expect.stringContaining('reset-single-sign-on') } },
    });
  expect((await client.get('/api/session')).status).toBe(200);
  await admin('account', 'reset-single-sign-on', email);
  expect((await make()).status).toBe(201);
});

test('an address that was given to another person does not give them the account, until an operator says so', async () => {
  const first = somebody();
  const { client } = await signIn(first);
  expect((await client.get('/api/session')).status).toBe(200);
  const second = somebody(first.email);
  expect(await signIn(second)).toMatchObject({ status: 409 });
  await admin('account', 'reset-single-sign-on', first.email);
  expect((await client.get('/api/session')).status).toBe(401);
  expect((await signIn(second)).status).toBe(200);
  expect((await client.get('/api/session')).status).toBe(401);
  expect((await signIn(first)).status).toBe(409);
});

test('a session of a deleted account does not open the one that another person gets by its address', async () => {
  const first = somebody();
  const { client } = await signIn(first);
  await admin('account', 'delete', first.email);
  expect((await signIn(somebody(first.email))).status).toBe(200);
  expect((await client.get('/api/session')).status).toBe(401);
});

test('a new sign-in proves what a password does, and asks for the second factor from then on', async () => {
  const person = somebody();
  const { client } = await signIn(person);
  const age = async (minutes: number) => {
    const key = `sessions:${client.token()?.split('.')[0]}`;
    const [[digest = '', json = '{}'] = []] = Object.entries(await stores.redis.hgetall(key));
    const session = { ...JSON.parse(json), startedAtMs: Date.now() - minutes * 60_000 };
    await stores.redis.hset(key, digest, JSON.stringify(session));
  };
  await age(6);
  expect((await client.send('POST', '/api/account/two-factor/begin', {})).status).toBe(401);
  expect((await client.send('POST', '/api/account/delete', {})).status).toBe(401);
  await age(4);
  const begun = await client.send<{ secret: string }>('POST', '/api/account/two-factor/begin', {});
  const { secret } = begun.body;
  expect((await client.send('POST', '/api/account/two-factor', { code: codeOf(secret) })).status).toBe(200);

  const confirmed = await signIn(person);
  expect(confirmed.body.account).toBeUndefined();
  expect(confirmed.client.token()).toBeUndefined();
  const { attempt } = confirmed.body;
  const prove = (code: string, sent = attempt) =>
    confirmed.client.send('POST', '/api/single-sign-on/code', { attempt: sent, code });
  expect(await prove('000000')).toMatchObject({ status: 401, body: { code: 'code-invalid' } });
  // The attempt of before the provider's answer is none that it confirmed.
  const unconfirmed = await begin(confirmed.client);
  expect(await prove(codeOf(secret, 1), unconfirmed.attempt)).toMatchObject({
    status: 401,
    body: { code: 'credentials-invalid' },
  });
  expect((await prove(codeOf(secret, 1))).status).toBe(200);
  expect((await confirmed.client.send('POST', '/api/account/delete', {})).status).toBe(204);
});

test('makes no account where nobody may sign up, and lets those in who have one', async () => {
  const known = somebody();
  await signIn(known);
  await using closed = await startPortal(config, { ...openid.environments[1], PORTAL_SIGN_UP: 'closed' });
  const at = (person: Person) => signIn(person, makePortalClient(closed.url));
  expect(await at(somebody())).toMatchObject({ status: 403, body: { code: 'sign-up-closed' } });
  expect((await at(known)).status).toBe(200);
});

test('without an identity provider the portal says so', async () => {
  await using plain = await startPortal(config);
  const client = makePortalClient(plain.url);
  expect((await client.get('/api/sign-in-options')).body).toMatchObject({ singleSignOn: false });
  expect(await client.send('POST', '/api/single-sign-on/begin')).toMatchObject({ status: 409 });
  expect((await makePortalClient(portal.url).get('/api/sign-in-options')).body).toMatchObject({
    singleSignOn: true,
  });
});

test('a provider that is away is no refusal', async () => {
  const client = makePortalClient(portal.url);
  const { url, attempt } = await begin(client);
  const query = await openid.visit(url, somebody());
  await provider.kill('SIGKILL');
  expect((await finish(client.hasty(), attempt, query)).status).toBe(503);
});
