import { findFreePorts } from '../../../deploy/local/settings/ports.ts';
import { type MailServer, receiveMails } from '../../support/fakes/receive-mails.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin } from '../../support/systems/run-admin.ts';
import {
  createApp,
  makePortalClient,
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';

// Scenario: people forget their passwords at a portal that sends e-mail through a real SMTP server,
// and somebody asks for links to addresses of others.

const stores = testStores(8);
const { config } = stores;
let portal: RunningPortal;
let server: MailServer;

beforeAll(async () => {
  await stores.replay();
  server = await stores.use(receiveMails());
  portal = await stores.use(startMailingPortal());
});

/** A portal that sends e-mail, at the origin that its links have. */
async function startMailingPortal(): Promise<RunningPortal> {
  const [port] = await findFreePorts(1);
  return startPortal(config, {
    HTTP_PORT: String(port),
    PORTAL_ORIGIN: `http://127.0.0.1:${port}`,
    SMTP_URL: server.url,
    MAIL_FROM: 'rolecall@example.com',
    TRUSTED_PROXIES: '127.0.0.0/8,::1',
  });
}

const ask = (email: string, from = '192.0.2.1') =>
  makePortalClient(portal.url).send(
    'POST',
    '/api/forgotten-password',
    { email },
    { 'x-forwarded-for': from },
  );

test('the answer is the same whether or not an address has an account, and only an account gets a link', async () => {
  const known = await signUp(portal.url);
  const ops = await signUp(portal.url);
  await makeAdmin(config)('account', 'operator', ops.email, '--vouch');
  const answers = [
    await ask('nobody@example.com'),
    await ask(ops.email),
    await ask(known.email.toUpperCase()),
  ];
  for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: undefined });
  const mail = await server.waitFor(({ recipients }) => recipients.includes(known.email));
  // The portal may also have told the owners of other tests' apps of what needs them.
  const links = server.mails.filter(({ text }) => text.includes('/reset-password#'));
  expect(links.map(({ recipients }) => recipients)).toEqual([[known.email]]);

  const link = /http:\/\/\S+\/reset-password#\S+/.exec(mail.text)?.[0] ?? '';
  expect(link.startsWith(`${portal.url}/reset-password#acc_`)).toBe(true);
  const token = link.split('#')[1];
  const stranger = makePortalClient(portal.url);
  const reset = () =>
    stranger.send('POST', '/api/reset-password', { token, password: 'a password of the mail' });
  expect((await reset()).status).toBe(204);
  expect((await reset()).status).toBe(410);
  expect((await known.get('/api/session')).status).toBe(401);
  const signIn = (password: string) =>
    stranger.send('POST', '/api/sign-in', { email: known.email, password });
  expect([(await signIn(PASSWORD)).status, (await signIn('a password of the mail')).status]).toEqual([
    401, 200,
  ]);
});

test('three links an hour are sent to an address, and twenty are requested from one, known or not', async () => {
  const { email } = await signUp(portal.url);
  for (const each of [email, 'unknown@example.com']) {
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await ask(each, `192.0.2.${10 + i}`)).status);
    expect(statuses).toEqual([202, 202, 202, 429]);
  }
  const fromOne = [];
  for (let i = 0; i < 21; i++) fromOne.push((await ask(`${i}@example.com`, '198.51.100.7')).status);
  expect(fromOne).toEqual([...Array(20).fill(202), 429]);
});

test('without an SMTP server the portal says so, and sends nothing', async () => {
  await using silent = await startPortal(config);
  const client = makePortalClient(silent.url);
  expect((await client.get('/api/sign-in-options')).body).toEqual({
    resetLinkByEmail: false,
    signUp: 'open',
    singleSignOn: false,
  });
  const answer = await client.send('POST', '/api/forgotten-password', { email: 'dev@example.com' });
  expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect((await makePortalClient(portal.url).get('/api/sign-in-options')).body).toEqual({
    resetLinkByEmail: true,
    signUp: 'open',
    singleSignOn: false,
  });
});

test('the owner of an app is told of a decision about its scope, unless the account turned that off', async () => {
  const admin = makeAdmin(config);
  const owners = [await signUp(portal.url), await signUp(portal.url)] as const;
  for (const owner of owners) {
    const { clientId } = await createApp(owner, 'Letter hall');
    await owner.send('POST', `/api/apps/${clientId}/scope`, { purpose: 'a letter' });
    await admin('scope', 'reject', clientId, '--reason', 'Which letter?');
  }
  const [quiet, told] = owners;
  const noticesOf = async (owner: PortalClient) =>
    (await owner.get<{ account: { notices?: boolean } }>('/api/session')).body.account.notices;
  expect(await noticesOf(quiet)).toBe(true);
  expect((await quiet.send('PUT', '/api/account/notices', { enabled: false })).status).toBe(204);
  expect(await noticesOf(quiet)).toBe(false);

  // As if the hour since the first look were over: the next portal looks at its start.
  await stores.redis.del('notices:looked');
  await using _ = await startMailingPortal();
  const mail = await server.waitFor(({ recipients }) => recipients.includes(told.email));
  expect(mail.text).toContain('The scope of "Letter hall" was not approved: Which letter?');
  expect(mail.text).toContain('/scope');
  expect(server.mails.filter(({ recipients }) => recipients.includes(quiet.email))).toEqual([]);
});
