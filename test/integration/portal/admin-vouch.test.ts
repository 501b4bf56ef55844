import { openViews } from '#shared/stores/replay/open-views.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin } from '../../support/systems/run-admin.ts';
import {
  makePortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';

// Scenario: someone signs up with an address that they may not own, and an operator runs commands
// on that address. The account gets nothing until the operator vouches for it, and no open session
// gains operator rights.

const stores = testStores(14);
const { config } = stores;
let portal: RunningPortal;

beforeAll(async () => {
  await stores.replay();
  portal = await stores.use(startPortal(config));
});

const admin = makeAdmin(config);

const account = (email: string) => openViews(stores.redis).accounts.findByEmail(email);

test('commands that take an address refuse a self-registered account and change nothing', async () => {
  const squatter = await signUp(portal.url);
  const { email } = squatter;
  const before = await account(email);
  for (const line of [
    ['app', 'create', '--email', email, '--name', 'x', '--tier', 'enterprise', '--approve'],
    ['tier', 'set', email, 'paid'],
    ['account', 'operator', email],
    ['account', 'operator', email, '--withdraw'],
    ['account', 'reset-password', email],
    ['account', 'reset-link', email],
    ['account', 'reset-two-factor', email],
    ['account', 'delete', email],
  ]) {
    const refused = await admin(...line);
    expect([line, refused]).toEqual([
      line,
      {
        exitCode: 1,
        value: { error: { code: 'account-unverified', message: expect.stringContaining('--vouch') } },
      },
    ]);
  }
  expect(await account(email)).toEqual(before);
  expect((await squatter.get<unknown[]>('/api/apps')).body).toEqual([]);
});

test('an account gets an app once an operator has vouched for it, and later apps need no further confirmation', async () => {
  const { email } = await signUp(portal.url);
  expect(await admin('app', 'create', '--email', email, '--name', 'x', '--vouch')).toMatchObject({
    exitCode: 0,
    value: { clientId: expect.any(String) },
  });
  expect(await admin('tier', 'set', email, 'paid')).toMatchObject({ exitCode: 0, value: { tier: 'paid' } });
});

test('granting operator rights ends all sessions and sets a new password', async () => {
  const holder = await signUp(portal.url);
  const granted = await admin('account', 'operator', holder.email, '--vouch');
  expect(granted).toMatchObject({ exitCode: 0, value: { email: holder.email, operator: true } });
  expect((await holder.get('/api/session')).status).toBe(401);
  const operator = makePortalClient(portal.url, holder.email);
  const password = String(granted.value['password']);
  expect((await operator.send('POST', '/api/sign-in', { email: holder.email, password })).status).toBe(200);
  expect((await operator.get('/api/operator/scope-requests')).status).toBe(200);
});

test("an operator's link sets a new password once, ends all sessions, and is in the audit log", async () => {
  const client = await signUp(portal.url);
  const { email } = client;
  const tokenBy = async () => {
    const made = await admin('account', 'reset-link', email, '--vouch');
    expect(made).toMatchObject({ exitCode: 0, value: { email } });
    return /^\/reset-password#(.+)$/.exec(String(made.value['link']))?.[1] ?? '';
  };
  const [replaced, token] = [await tokenBy(), await tokenBy()];
  const keys = await stores.redis.keys('reset-link:*');
  expect(JSON.stringify([keys, await stores.redis.mget(keys)])).not.toContain(token.split('.')[1]);
  const somebody = makePortalClient(portal.url, email);
  const password = 'a password that is remembered';
  const reset = async (by: string) =>
    (await somebody.send('POST', '/api/reset-password', { token: by, password })).status;
  for (const wrong of [replaced, `${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`, 'x'])
    expect(await reset(wrong)).toBe(410);
  expect((await client.get('/api/session')).status).toBe(200);
  expect((await Promise.all([reset(token), reset(token)])).filter((status) => status === 204)).toEqual([204]);
  expect(await reset(token)).toBe(410);
  expect((await client.get('/api/session')).status).toBe(401);
  expect((await somebody.send('POST', '/api/sign-in', { email, password })).status).toBe(200);
  const { body } = await somebody.get<{ action: string }[]>('/api/audit');
  const actions = body.map(({ action }) => action);
  expect(actions.filter((action) => action === 'reset-link-made')).toHaveLength(2);
  expect(actions.filter((action) => action === 'password-reset')).toHaveLength(1);
});

test("an operator makes a developer's reset link in the portal, but no operator's", async () => {
  const [operator, client] = [await signUp(portal.url), await signUp(portal.url)];
  const { email } = operator;
  const { value } = await admin('account', 'operator', email, '--vouch');
  await operator.send('POST', '/api/sign-in', { email, password: value['password'] });
  const make = (by: typeof client, accountId = '') =>
    by.send<{ token: string }>('POST', `/api/operator/accounts/${accountId}/reset-link`);
  const accountId = (await account(client.email))?.accountId;
  expect((await make(client, accountId)).status).toBe(403);
  expect((await make(operator, (await account(email))?.accountId)).status).toBe(409);
  expect((await make(operator, 'acc_000000000000000000000000')).status).toBe(404);
  const made = await make(operator, accountId);
  expect(made.status).toBe(201);
  const body = { token: made.body.token, password: 'a password that is remembered' };
  expect((await client.send('POST', '/api/reset-password', body)).status).toBe(204);
  expect((await client.get('/api/session')).status).toBe(401);
});

test('signing up with the address of an account that an operator made does not take that account over', async () => {
  const client = makePortalClient(portal.url);
  const create = ['app', 'create', '--email', client.email, '--name', 'x'];
  expect((await admin(...create)).exitCode).toBe(0);
  await client.send('POST', '/api/sign-up', { email: client.email, password: 'a stranger was here' });
  expect((await account(client.email))?.passwordHash).toBeUndefined();
  expect((await admin(...create)).exitCode).toBe(0);
});
