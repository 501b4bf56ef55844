import { hostname, userInfo } from 'node:os';
import type { Audit } from '#shared/contracts/apps/audit.ts';
import { makeRecordAudit } from '#shared/stores/audit/audit-trail.ts';
import { openViews } from '#shared/stores/replay/open-views.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin, runAdmin } from '../../support/systems/run-admin.ts';
import {
  createApp,
  makePortalClient,
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';
import { waitUntilPasses } from '../../support/wait-until.ts';

// Scenario: a customer with a free account writes as much as it may by the API, a stranger guesses
// passwords, and operators work. None of it hides entries about people, keys and roles.

const stores = testStores(14);
const { config } = stores;
const admin = makeAdmin(config);
let portal: RunningPortal;

beforeAll(async () => {
  await stores.replay();
  portal = await stores.use(startPortal(config));
});

const trailOf = () => openViews(stores.redis).auditTrail;
async function everyEntry(filters: { accountId?: string; action?: string } = {}): Promise<Audit[]> {
  const all: Audit[] = [];
  for (let before: string | undefined, isOver = false; !isOver; isOver = before === undefined) {
    const page = await trailOf().page({ ...filters, before, countMax: 700 });
    all.push(...page.entries);
    before = page.next;
  }
  return all;
}
const keysOf = (entries: readonly Audit[]) =>
  entries.map(({ at, accountId, actor, action, subject }) =>
    [at, accountId, actor, action, subject].join(' '),
  );
const accountIdOfClient = async (client: PortalClient) =>
  (await client.get<{ account: { accountId: string } }>('/api/session')).body.account.accountId;

test('10 000 writes by a free account displace nothing about people, keys, roles and tiers, also after a rebuild', async () => {
  const ada = await signUp(portal.url);
  const app = await createApp(ada);
  await ada.send('POST', `/api/apps/${app.clientId}/keys`, { name: 'second' });
  await ada.send('DELETE', `/api/apps/${app.clientId}/keys/${app.keyId}`);
  const accountId = await accountIdOfClient(ada);
  const other = await signUp(portal.url);
  const otherApp = await createApp(other);
  const record = makeRecordAudit({ publish: stores.kafka.publish, auditTrail: trailOf(), now: Date.now });
  const byKey = { actor: app.keyId, action: 'rule-set-written', kind: 'write' } as const;
  const ofOther = { accountId: await accountIdOfClient(other), clientId: otherApp.clientId };
  await record({ ...ofOther, ...byKey, subject: 'of another account' });
  const before = (await everyEntry()).filter(({ kind }) => kind === 'security');
  expect(before.filter((entry) => entry.accountId === accountId).map(({ action }) => action)).toEqual(
    expect.arrayContaining(['key-revoked', 'key-created', 'app-created', 'signed-in', 'account-created']),
  );

  const about = { accountId, clientId: app.clientId };
  for (let i = 0; i < 10_000; i += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, k) => record({ ...about, ...byKey, subject: `set-${i + k}` })),
    );

  const after = await everyEntry();
  expect(keysOf(after.filter(({ kind }) => kind === 'security'))).toEqual(keysOf(before));
  const own = await everyEntry({ accountId });
  expect(own.filter(({ kind }) => kind === 'write')).toHaveLength(500);
  expect(own.find(({ kind }) => kind === 'write')?.subject).toMatch(/^set-99\d\d$/);
  expect(after.filter(({ subject }) => subject === 'of another account')).toHaveLength(1);
  expect(after.filter((entry) => entry.accountId === accountId && entry.kind === 'write')).toHaveLength(500);

  await stores.redis.flushdb();
  await stores.replay();
  expect(keysOf(await everyEntry({ accountId })).toSorted()).toEqual(keysOf(own).toSorted());
  expect(keysOf((await everyEntry()).filter(({ kind }) => kind === 'security')).toSorted()).toEqual(
    keysOf(before).toSorted(),
  );
});

test('repeats of a write within an hour are one entry, dated by the last, in whatever order they come', async () => {
  const { record, ofAccount } = trailOf();
  const entry = (at: string): Audit => ({
    accountId: 'acc_repeats',
    actor: 'key_1',
    action: 'watch-members-changed',
    subject: 'vip',
    kind: 'write',
    at,
  });
  for (const at of ['10:59:59', '10:00:00', '11:00:00', '10:30:00', '10:59:59'])
    await record(entry(`2026-11-21T${at}.000Z`));
  expect((await ofAccount('acc_repeats', 10)).map(({ at }) => at)).toEqual([
    '2026-11-21T11:00:00.000Z',
    '2026-11-21T10:59:59.000Z',
  ]);
});

test('every repeated act about people is an entry of its own, and an entry that is written again is not', async () => {
  const { record, ofAccount } = trailOf();
  const now = Date.now();
  const entry = (ms: number): Audit => ({
    accountId: 'acc_people',
    actor: 'acc_people',
    action: 'password-changed',
    subject: 'acc_people',
    kind: 'security',
    at: new Date(now + ms).toISOString(),
  });
  for (const ms of [0, 1, 2, 0]) await record(entry(ms));
  expect(await ofAccount('acc_people', 10)).toHaveLength(3);
});

test('sign-ins and failures are in the trail with browser and address, of an account alone that exists', async () => {
  const client = await signUp(portal.url);
  const stranger = makePortalClient(portal.url);
  const tried = { email: client.email, password: 'a wrong password' };
  expect((await stranger.send('POST', '/api/sign-in', tried)).status).toBe(401);
  await stranger.send('POST', '/api/sign-in', { ...tried, email: 'nobody@example.com' });
  await client.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD });
  const accountId = await accountIdOfClient(client);
  await waitUntilPasses(async () => {
    const entries = await everyEntry({ accountId });
    expect(entries.map(({ action }) => action).toSorted()).toEqual([
      'account-created',
      'sign-in-failed',
      'signed-in',
      'signed-in',
    ]);
    for (const { action, from } of entries)
      if (action !== 'account-created') expect(from).toMatch(/, 127\.0\.0\.1$/);
  });
  expect(JSON.stringify(await everyEntry({ accountId }))).not.toContain(client.email);
});

test('the command line has an actor: the user and host, or --as; a read is recorded, for its app too', async () => {
  const client = await signUp(portal.url);
  const app = await createApp(client);
  const accountId = await accountIdOfClient(client);
  await admin('app', 'suspend', app.clientId);
  await admin('app', 'resume', app.clientId, '--as', 'alice');
  await admin('key', 'list', app.clientId, '--as', 'bob');
  await admin('account', 'list', '--query', client.email, '--as', 'bob');
  const { value } = await admin('audit', 'list', '--account', client.email);
  expect(
    (value as unknown as Audit[]).slice(0, 3).map(({ actor, action, subject }) => [actor, action, subject]),
  ).toEqual([
    ['bob', 'command-run', `key list ${app.clientId}`],
    ['alice', 'app-resumed', app.clientId],
    [`${userInfo().username}@${hostname()}`, 'app-suspended', app.clientId],
  ]);
  const [listed] = await everyEntry({ accountId: 'operators', action: 'command-run' });
  expect(listed).toMatchObject({ actor: 'bob', subject: 'account list' });
  for (const name of ['acc_1', 'key_1', 'portal', 'a b', ''])
    expect(await admin('app', 'resume', app.clientId, '--as', name)).toMatchObject({
      exitCode: 1,
      value: { error: { code: 'usage-invalid' } },
    });
  // Developers see that it was an operator, and not who.
  type Shown = { actor: string; action: string };
  const shown = (await client.get<Shown[]>(`/api/apps/${app.clientId}/audit`)).body;
  expect(shown.slice(0, 3).map(({ actor }) => actor)).toEqual(['operator', 'operator', 'operator']);
  expect((await everyEntry({ accountId })).map(({ actor }) => actor)).toContain('alice');
});

test('audit export prints every entry of the topic since an instant as NDJSON, with ids for addresses', async () => {
  const client = await signUp(portal.url);
  const app = await createApp(client);
  const since = (await everyEntry({ accountId: await accountIdOfClient(client), action: 'app-created' }))[0]
    ?.at;
  const record = makeRecordAudit({ publish: stores.kafka.publish, auditTrail: trailOf(), now: Date.now });
  const about = {
    accountId: 'acc_exported',
    actor: 'key_1',
    action: 'rule-set-written',
    kind: 'write',
  } as const;
  // More than the view keeps.
  for (let i = 0; i < 700; i += 100)
    await Promise.all(Array.from({ length: 100 }, (_, k) => record({ ...about, subject: `${i + k}` })));
  const { exitCode, stdout } = await runAdmin(['audit', 'export', '--since', since ?? ''], {
    env: { KAFKA_BROKERS: config.kafka.brokers.join(','), REDIS_URL: config.redis.url },
  });
  expect(exitCode).toBe(0);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Audit);
  expect(lines.filter(({ accountId }) => accountId === 'acc_exported')).toHaveLength(700);
  expect(
    lines.filter(({ clientId, action }) => clientId === app.clientId && action === 'app-created'),
  ).toHaveLength(1);
  expect(lines.every(({ at }) => at >= (since ?? ''))).toBe(true);
  expect(stdout).not.toContain(client.email);
});
