import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeSilentLogger } from '#shared/telemetry/log.ts';
import { openViews } from '#shared/views/open-views.ts';
import { rebuildViews } from '#shared/views/rebuild-views.ts';
import { connectTestKafka, connectTestRedis, testConfig } from '../support/connections.ts';
import { makeAdmin } from '../support/run-admin.ts';
import { makePortalClient, type RunningPortal, signUp, startPortal } from '../support/start-portal.ts';

// Scenario: somebody signs up with an address before its owner is known, and an operator works on that address with the
// command. Nothing is given to the account until the operator vouches for it, and operator rights never go to a session.

const config = testConfig(14);
let connection: RedisConnection;
let portal: RunningPortal;
const stack = new AsyncDisposableStack();

beforeAll(async () => {
  connection = stack.use(await connectTestRedis(config));
  const kafka = stack.use(await connectTestKafka(config));
  await rebuildViews({ ...openViews(connection.redis), kafka, now: Date.now, log: makeSilentLogger() });
  portal = stack.use(await startPortal(config));
});

afterAll(() => stack.disposeAsync());

const admin = makeAdmin(config);

const account = (email: string) => openViews(connection.redis).accounts.findByEmail(email);

test('every command that takes an address refuses an account that signed up by itself, and changes nothing', async () => {
  const squatter = await signUp(portal.url);
  const { email } = squatter;
  const before = await account(email);
  for (const line of [
    ['app', 'create', '--email', email, '--name', 'x', '--tier', 'enterprise', '--approve'],
    ['tier', 'set', email, 'paid'],
    ['account', 'operator', email],
    ['account', 'operator', email, '--withdraw'],
    ['account', 'reset-password', email],
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

test('an account is given an app once an operator vouches for it, and needs no second word', async () => {
  const { email } = await signUp(portal.url);
  expect(await admin('app', 'create', '--email', email, '--name', 'x', '--vouch')).toMatchObject({
    exitCode: 0,
    value: { clientId: expect.any(String) },
  });
  expect(await admin('tier', 'set', email, 'paid')).toMatchObject({ exitCode: 0, value: { tier: 'paid' } });
});

test('operator rights end the sessions before them, and go with a new password', async () => {
  const holder = await signUp(portal.url);
  const granted = await admin('account', 'operator', holder.email, '--vouch');
  expect(granted).toMatchObject({ exitCode: 0, value: { email: holder.email, operator: true } });
  expect((await holder.get('/api/session')).status).toBe(401);
  const operator = makePortalClient(portal.url, holder.email);
  const password = String(granted.value['password']);
  expect((await operator.send('POST', '/api/sign-in', { email: holder.email, password })).status).toBe(200);
  expect((await operator.get('/api/operator/scope-requests')).status).toBe(200);
});

test('signing up with the address of an account that an operator made does not take that account over', async () => {
  const client = makePortalClient(portal.url);
  const create = ['app', 'create', '--email', client.email, '--name', 'x'];
  expect((await admin(...create)).exitCode).toBe(0);
  await client.send('POST', '/api/sign-up', { email: client.email, password: 'a stranger was here' });
  expect((await account(client.email))?.passwordHash).toBeUndefined();
  expect((await admin(...create)).exitCode).toBe(0);
});
