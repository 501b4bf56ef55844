import { ACCOUNTS_KEY } from '#shared/stores/apps/accounts.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin } from '../../support/systems/run-admin.ts';
import {
  createApp,
  makePortalClient,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';

// Scenario: an operator searches accounts, apps and audit entries of a portal with a few
// developers, and Redis is wiped and rebuilt. Nobody else gets at any of it.

const stores = testStores(8);
const { config } = stores;
let portal: RunningPortal;
let operator: PortalClient;
/** Entries of other suites of the same worker are older. */
let began: string;
let ada: PortalClient;
let app: Awaited<ReturnType<typeof createApp>>;
const admin = makeAdmin(config);

type AuditPage = {
  entries: {
    action: string;
    actor: string;
    accountId: string;
    email?: string;
    clientId?: string;
    at: string;
  }[];
  next?: string;
};
const audit = async (query: Record<string, string>) =>
  (await operator.get<AuditPage>(`/api/operator/audit?${new URLSearchParams(query)}`)).body;

beforeAll(async () => {
  await stores.replay();
  portal = await stores.use(startPortal(config));
  began = new Date().toISOString();
  const signedUp = await signUp(portal.url);
  const { value } = await admin('account', 'operator', signedUp.email, '--vouch');
  operator = makePortalClient(portal.url, signedUp.email);
  const password = String(value['password']);
  await operator.send('POST', '/api/sign-in', { email: operator.email, password });
  ada = await signUp(portal.url);
  app = await createApp(ada, 'Guild hall of Ada');
  await ada.send('PATCH', `/api/apps/${app.clientId}`, { name: 'Guild hall' });
  await createApp(await signUp(portal.url), 'Something else');
});

test('an account and an app are found by parts of their names, by their ids and by the e-mail address', async () => {
  type Accounts = { accounts: { accountId: string; email: string; apps: number }[] };
  const found = async (query: string) =>
    (await operator.get<Accounts>(`/api/operator/accounts?${new URLSearchParams({ query })}`)).body.accounts;
  const [account] = await found(ada.email.slice(3, 20).toUpperCase());
  expect(account).toMatchObject({ email: ada.email, apps: 1 });
  expect(await found(account?.accountId ?? '')).toEqual([account]);
  expect(await found('nobody has such an address')).toEqual([]);

  type Apps = { apps: { clientId: string; name: string; email: string }[] };
  const apps = async (query: Record<string, string>) =>
    (await operator.get<Apps>(`/api/operator/apps?${new URLSearchParams(query)}`)).body.apps.map(
      ({ clientId }) => clientId,
    );
  for (const query of ['guild HALL', app.clientId, ada.email])
    expect(await apps({ query })).toEqual([app.clientId]);
  expect(await apps({ query: 'guild', suspended: 'true' })).toEqual([]);
  expect(await apps({})).toContain(app.clientId);
});

test('the details of an account and of an app show limits, usage and no secret', async () => {
  const { body } = await operator.get<{ apps: { accountId: string }[] }>(
    `/api/operator/apps?query=${app.clientId}`,
  );
  const { accountId = '' } = body.apps[0] ?? {};
  const account = await operator.get(`/api/operator/accounts/${accountId}`);
  expect(account.body).toMatchObject({
    email: ada.email,
    verified: false,
    sessions: 1,
    apps: 1,
    limits: { requestsPerMonth: 10_000 },
    clientApps: [{ clientId: app.clientId, month: { used: 0, quota: 10_000 } }],
  });
  const detail = await operator.get(`/api/operator/apps/${app.clientId}`);
  expect(detail.body).toMatchObject({
    name: 'Guild hall',
    keys: [{ keyId: app.keyId }],
    webhooks: { pending: 0, delivered: 0, exhausted: 0, stopped: 0 },
    batches: [],
    watches: [],
  });
  expect(JSON.stringify([account.body, detail.body])).not.toMatch(/"hash"|scrypt|encrypted/);
  for (const path of ['accounts/acc_1', 'apps/app_1'])
    expect((await operator.get(`/api/operator/${path}`)).status).toBe(404);
  for (const path of [`accounts/${accountId}`, `apps/${app.clientId}`, 'audit'])
    expect((await ada.get(`/api/operator/${path}`)).status).toBe(403);
});

test('audit entries are filtered by account, app, action and time, and come in pages, also after a rebuild', async () => {
  const all = await audit({ since: began, limit: '100' });
  expect(all.entries.length).toBeGreaterThanOrEqual(7);
  expect(all.entries.map(({ at }) => at)).toEqual(
    all.entries
      .map(({ at }) => at)
      .toSorted()
      .reverse(),
  );
  const ofAda = await audit({ account: ada.email });
  // What the operator looked at in the tests before is in the trail as well.
  const own = ofAda.entries.filter(({ action }) => !action.endsWith('-read'));
  expect(own.map(({ action }) => action)).toEqual([
    'app-renamed',
    'app-created',
    'signed-in',
    'account-created',
  ]);
  expect(own[0]).toMatchObject({ email: ada.email, clientId: app.clientId, actor: ada.email });
  expect((await audit({ app: app.clientId })).entries.slice(-2)).toEqual(own.slice(0, 2));
  const looks = ofAda.entries.filter(({ action }) => action.endsWith('-read'));
  expect(looks.map(({ action, actor }) => [action, actor]).toSorted()).toEqual([
    ['account-read', operator.email],
    ['app-read', operator.email],
  ]);
  expect((await audit({ app: app.clientId, action: 'app-renamed' })).entries).toEqual(own.slice(0, 1));
  const [renamed, created] = own;
  expect((await audit({ account: ada.email, until: created?.at ?? '' })).entries).toEqual(own.slice(1));
  expect((await audit({ account: ada.email, since: renamed?.at ?? '' })).entries).toEqual([
    ...looks,
    ...own.slice(0, 1),
  ]);

  const paged = async () => {
    const pages = [await audit({ since: began, limit: '2' })];
    for (let last = pages[0]; last?.next !== undefined; last = pages.at(-1))
      pages.push(await audit({ since: began, limit: '2', after: last.next }));
    return pages.flatMap(({ entries }) => entries);
  };
  expect(await paged()).toEqual(all.entries);
  const listed = await admin('audit', 'list', '--account', ada.email, '--action', 'app-renamed');
  expect(listed.value).toMatchObject([{ action: 'app-renamed', actor: ada.email, email: ada.email }]);
  expect((await operator.get('/api/operator/audit?after=x')).status).toBe(422);

  const session = await stores.redis.hgetall(ACCOUNTS_KEY);
  expect(Object.keys(session).length).toBeGreaterThan(0);
  await stores.redis.flushdb();
  await stores.replay();
  const { auditTrail } = openViews(stores.redis);
  const { entries } = await auditTrail.page({ accountId: renamed?.accountId, countMax: 10 });
  expect(entries.map(({ action, at }) => [action, at])).toEqual(
    ofAda.entries.map(({ action, at }) => [action, at]),
  );
});
