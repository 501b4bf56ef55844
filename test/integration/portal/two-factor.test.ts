import { Secret, TOTP } from 'otpauth';
import { account as accountTopic } from '#shared/contracts/apps/client-app.ts';
import { ACCOUNTS_KEY } from '#shared/stores/apps/accounts.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin } from '../../support/systems/run-admin.ts';
import {
  makePortalClient,
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';
import { waitUntil } from '../../support/wait-until.ts';

// Scenario: people turn on two-factor authentication at two portals over one Redis, and others who
// know their passwords try to get in without the code. Redis is wiped and rebuilt meanwhile.

const stores = testStores(8);
const { config } = stores;
let portal: RunningPortal;
let other: RunningPortal;
const admin = makeAdmin(config);

beforeAll(async () => {
  await stores.replay();
  [portal, other] = await Promise.all([stores.use(startPortal(config)), stores.use(startPortal(config))]);
});

const PERIOD_MS = 30_000;
type Enrolled = {
  readonly client: PortalClient;
  readonly secret: string;
  readonly recoveryCodes: string[];
  /** Another code each time: the next code that the portal takes. */
  readonly nextCode: () => string;
};

/** The code of a secret, this many steps from now. */
const codeOf = (secret: string, steps = 0) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + steps * PERIOD_MS });

/** Somebody new with a second factor. The first code is that of the step before, so that two more
 * can follow at once. */
async function enrol(): Promise<Enrolled> {
  const client = await signUp(portal.url);
  const begun = await client.send<{ secret: string }>('POST', '/api/account/two-factor/begin', {
    password: PASSWORD,
  });
  const { secret } = begun.body;
  expect(begun.status).toBe(200);
  // A code of the step before is too old if a step ends on the way.
  const enabled = await waitUntil('a code in time', async () => {
    const code = codeOf(secret, -1);
    const answer = await client.send<{ recoveryCodes: string[] }>('POST', '/api/account/two-factor', {
      code,
    });
    return answer.status === 200 && answer;
  });
  let step = -1;
  return {
    client,
    secret,
    recoveryCodes: enabled.body.recoveryCodes,
    nextCode: () => codeOf(secret, ++step),
  };
}

const signIn = (client: PortalClient, code?: string, url = portal.url) =>
  makePortalClient(url, client.email).send<{
    code?: string;
    account?: { twoFactor?: { recoveryCodesLeft: number } };
  }>('POST', '/api/sign-in', {
    email: client.email,
    password: PASSWORD,
    ...(code !== undefined && { code }),
  });
/** Signs in with a code. The next one follows if Redis did not answer in time: it may have noted
 * the first one as used. */
function signInByCode({ client, secret, nextCode }: Enrolled) {
  const tried = new Set<string>();
  return waitUntil('a sign-in with a code', async () => {
    const code = tried.size === 0 ? nextCode() : codeOf(secret, 1);
    if (tried.has(code)) return false;
    tried.add(code);
    const answer = await signIn(client, code);
    return answer.status === 200 && answer;
  });
}

const codeOfProblem = async (answer: ReturnType<typeof signIn>) => (await answer).body.code;

test('signing in needs a code once it is on, and each code is taken once, at whichever portal', async () => {
  const enrolled = await enrol();
  const { client, nextCode } = enrolled;
  expect(await codeOfProblem(signIn(client))).toBe('code-required');
  expect(await codeOfProblem(signIn(client, '000000'))).toBe('code-invalid');
  const code = nextCode();
  const both = await Promise.all([signIn(client, code), signIn(client, code, other.url)]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
  expect(await codeOfProblem(signIn(client, code))).toBe('code-invalid');
  await signInByCode(enrolled);
});

test('turning it on or off ends all other sessions, and keeps this one', async () => {
  const client = await signUp(portal.url);
  const elsewhere = makePortalClient(other.url, client.email);
  await elsewhere.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD });
  const { body } = await client.send<{ secret: string }>('POST', '/api/account/two-factor/begin', {
    password: PASSWORD,
  });
  await client.send('POST', '/api/account/two-factor', { code: codeOf(body.secret) });
  expect((await elsewhere.get('/api/session')).status).toBe(401);
  expect((await client.get('/api/session')).status).toBe(200);
  const off = (sent: { password: string; code: string }) =>
    client.send('POST', '/api/account/two-factor/disable', sent);
  expect((await off({ password: 'wrong', code: codeOf(body.secret, 1) })).status).toBe(401);
  expect((await off({ password: PASSWORD, code: '000000' })).body).toMatchObject({ code: 'code-invalid' });
  expect((await off({ password: PASSWORD, code: codeOf(body.secret, 1) })).status).toBe(204);
  expect((await client.get('/api/session')).status).toBe(200);
  expect((await signIn(client)).status).toBe(200);
});

test('each recovery code signs in once, however it is typed, and new ones replace all', async () => {
  const { client, recoveryCodes, nextCode } = await enrol();
  const [first = '', second = ''] = recoveryCodes;
  expect(recoveryCodes).toHaveLength(10);
  const both = await Promise.all([
    signIn(client, first),
    signIn(client, ` ${first.toUpperCase()} `, other.url),
  ]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
  const signedIn = both.find(({ status }) => status === 200);
  expect(signedIn?.body.account?.twoFactor).toMatchObject({ recoveryCodesLeft: 9 });
  const renewed = await client.send<{ recoveryCodes: string[] }>(
    'POST',
    '/api/account/two-factor/recovery-codes',
    {
      password: PASSWORD,
      code: nextCode(),
    },
  );
  expect((await signIn(client, second)).status).toBe(401);
  expect((await signIn(client, renewed.body.recoveryCodes[0])).status).toBe(200);
});

test('ten wrong codes are refused, then the right one too, at every portal', async () => {
  const { client, nextCode } = await enrol();
  const statuses = [];
  for (let i = 0; i < 11; i++)
    statuses.push((await signIn(client, `00000${i % 10}`, i % 2 === 0 ? portal.url : other.url)).status);
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
  expect((await signIn(client, nextCode())).status).toBe(429);
});

test('a new password by a link does not turn it off, and an operator can, with an audit entry', async () => {
  const enrolled = await enrol();
  const { client } = enrolled;
  const { value } = await admin('account', 'reset-link', client.email, '--vouch');
  const token = String(value['link']).split('#')[1];
  const reset = { token, password: PASSWORD };
  expect((await makePortalClient(portal.url).send('POST', '/api/reset-password', reset)).status).toBe(204);
  expect(await codeOfProblem(signIn(client))).toBe('code-required');
  await signInByCode(enrolled);

  const ops = await signUp(portal.url);
  const granted = await admin('account', 'operator', ops.email, '--vouch');
  await ops.send('POST', '/api/sign-in', { email: ops.email, password: String(granted.value['password']) });
  const known = await openViews(stores.redis).accounts.findByEmail(client.email);
  const path = (accountId = '') => `/api/operator/accounts/${accountId}/two-factor/reset`;
  expect((await client.send('POST', path(known?.accountId))).status).toBe(401);
  expect((await ops.send('POST', path(known?.accountId))).status).toBe(204);
  expect((await signIn(client)).status).toBe(200);
  const { entries } = await openViews(stores.redis).auditTrail.page({
    accountId: known?.accountId,
    action: 'two-factor-reset',
    countMax: 1,
  });
  const own = await openViews(stores.redis).accounts.findByEmail(ops.email);
  expect(entries).toMatchObject([{ action: 'two-factor-reset', actor: own?.accountId }]);
  expect((await ops.send('POST', path(own?.accountId))).status).toBe(409);
});

test('a setup is turned on by its own code only, and an account has one second factor', async () => {
  const client = await signUp(portal.url);
  const enable = (code: string) => client.send('POST', '/api/account/two-factor', { code });
  expect((await enable('123456')).status).toBe(409);
  expect((await client.send('POST', '/api/account/two-factor/begin', { password: 'wrong' })).status).toBe(
    401,
  );
  const { body } = await client.send<{ secret: string }>('POST', '/api/account/two-factor/begin', {
    password: PASSWORD,
  });
  expect((await enable(codeOf(body.secret, 9))).status).toBe(401);
  expect((await signIn(client)).status).toBe(200);
  expect((await enable(codeOf(body.secret))).status).toBe(200);
  expect((await enable(codeOf(body.secret, 1))).status).toBe(409);
  expect((await client.send('POST', '/api/account/two-factor/begin', { password: PASSWORD })).status).toBe(
    409,
  );
});

test('the secret is nowhere in plain text, and a wiped Redis comes back with it', async () => {
  const enrolled = await enrol();
  const { client, secret, recoveryCodes } = enrolled;
  const { redis } = stores;
  const documents: unknown[] = [];
  await stores.kafka.readTopic({
    topic: accountTopic.name,
    signal: AbortSignal.timeout(60_000),
    apply: async (records) => void documents.push(...records.map(({ value }) => String(value))),
  });
  const stored = JSON.stringify([await redis.hgetall(ACCOUNTS_KEY), documents]);
  expect(stored).toContain('recoveryCodes');
  for (const text of [secret, ...recoveryCodes]) expect(stored).not.toContain(text);
  await redis.flushdb();
  await stores.replay();
  expect(await codeOfProblem(signIn(client))).toBe('code-required');
  await signInByCode(enrolled);
  expect((await signIn(client, recoveryCodes[3])).status).toBe(200);
});

test('where operators need a second factor, one without it signs in and can do nothing but set it up', async () => {
  await using strict = await startPortal(config, { PORTAL_OPERATOR_TWO_FACTOR: 'required' });
  const ops = await signUp(strict.url);
  const granted = await admin('account', 'operator', ops.email, '--vouch');
  const password = String(granted.value['password']);
  type Told = { account: { mustSetUpTwoFactor: boolean } };
  const signedIn = await ops.send<Told>('POST', '/api/sign-in', { email: ops.email, password });
  expect(signedIn).toMatchObject({ status: 200, body: { account: { mustSetUpTwoFactor: true } } });
  for (const path of ['/api/apps', '/api/sessions', '/api/operator/accounts'])
    expect(await ops.get(path)).toMatchObject({ status: 403, body: { code: 'two-factor-required' } });
  const { body } = await ops.send<{ secret: string }>('POST', '/api/account/two-factor/begin', { password });
  await waitUntil('a code in time', async () => {
    const enabled = await ops.send('POST', '/api/account/two-factor', { code: codeOf(body.secret) });
    return enabled.status === 200;
  });
  expect((await ops.get<Told>('/api/session')).body.account.mustSetUpTwoFactor).toBe(false);
  expect((await ops.get('/api/operator/accounts')).status).toBe(200);
});
