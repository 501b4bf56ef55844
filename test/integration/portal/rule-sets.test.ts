import { testStores } from '../../support/infrastructure/test-stores.ts';
import { makeAdmin } from '../../support/systems/run-admin.ts';
import { createApp, type RunningPortal, signUp, startPortal } from '../../support/systems/start-portal.ts';

// Scenario: a developer in a real portal and an operator with the command work on the same rule
// sets.

const stores = testStores(2);
const { config } = stores;
const admin = makeAdmin(config);
const RULE = { type: 'NATIVE', chainId: 1, roleId: 'holder' };
let portal: RunningPortal;

beforeAll(async () => {
  await stores.replay();
  portal = await stores.use(startPortal(config));
});

async function aDeveloper() {
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client);
  await admin('scope', 'approve', clientId);
  const api = `/api/apps/${clientId}/rule-sets`;
  const put = (id: string, ruleSet: unknown, replaces?: number) =>
    client.send<Record<string, unknown>>('PUT', `${api}/${id}`, {
      ruleSet,
      ...(replaces === undefined ? {} : { replaces }),
    });
  return { client, clientId, api, put };
}

test('a developer stores, lists, changes and deletes a rule set, and the audit trail records it', async () => {
  const { client, clientId, api, put } = await aDeveloper();
  expect(await put('vip.1', { name: 'VIP', rules: [RULE] }, 0)).toMatchObject({
    status: 200,
    body: { ruleSetId: 'vip.1', version: 1, rules: [RULE] },
  });
  expect(await put('vip.1', { rules: [{ ...RULE, minToken: '2' }] }, 1)).toMatchObject({
    body: { version: 2 },
  });
  const list = await client.get<{ ruleSets: unknown[] }>(api);
  expect(list.body.ruleSets).toEqual([
    expect.objectContaining({ ruleSetId: 'vip.1', version: 2, ruleCount: 1 }),
  ]);
  expect((await client.get(`${api}/vip.1`)).body).toMatchObject({ rules: [{ ...RULE, minToken: '2' }] });
  expect((await client.send('DELETE', `${api}/vip.1`)).status).toBe(204);
  expect((await client.get(`${api}/vip.1`)).status).toBe(404);
  const audit = await client.get<{ actor: string; action: string }[]>(`/api/apps/${clientId}/audit`);
  // Repeats of a write within an hour are one entry.
  expect(audit.body.slice(0, 2).map(({ actor, action }) => [actor, action])).toEqual([
    [client.email, 'rule-set-deleted'],
    [client.email, 'rule-set-written'],
  ]);
});

test('a rule set of an app without the approved scope, or of a suspended one, is refused; it can still be deleted', async () => {
  const client = await signUp(portal.url);
  const { clientId } = await createApp(client);
  const path = `/api/apps/${clientId}/rule-sets/vip`;
  const put = () => client.send('PUT', path, { ruleSet: { rules: [RULE] } });
  expect(await put()).toMatchObject({ status: 403, body: { code: 'scope-not-approved' } });
  await admin('scope', 'approve', clientId);
  expect(await put()).toMatchObject({ status: 200 });
  await admin('app', 'suspend', clientId);
  expect(await put()).toMatchObject({ status: 403, body: { code: 'client-app-suspended' } });
  const test = { callbackUrl: 'https://example.com/' };
  for (const [path, body] of [
    ['test-event', test],
    ['deliveries/r1/resend', undefined],
    ['deliveries/resend-failed', { since: '2026-11-21T00:00:00Z' }],
  ] as const)
    expect(await client.send('POST', `/api/apps/${clientId}/${path}`, body)).toMatchObject({
      status: 403,
      body: { code: 'client-app-suspended' },
    });
  expect(await client.send('DELETE', path)).toMatchObject({ status: 204 });
});

test('every fault of the rules has its pointer, and a concurrent change gets 412', async () => {
  const { put } = await aDeveloper();
  const faulty = await put('a', { rules: [{ ...RULE, minToken: 'x' }, { type: 'ERC20' }], more: 1 });
  expect(faulty.status).toBe(422);
  const { errors } = faulty.body as { errors: { pointer: string }[] };
  expect(errors.map(({ pointer }) => pointer).sort()).toEqual([
    '/more',
    '/rules/0/minToken',
    '/rules/1/chainId',
    '/rules/1/contractAddress',
    '/rules/1/roleId',
  ]);
  for (const id of ['Upper', 'a b', 'ä', 'a'.repeat(65)])
    expect([id, await put(encodeURIComponent(id), { rules: [RULE] })]).toMatchObject([
      id,
      { status: 422, body: { code: 'validation-failed', errors: [{ pointer: '/id' }] } },
    ]);
  await put('a', { rules: [RULE] }, 0);
  expect(await put('a', { rules: [{ ...RULE, minToken: '3' }] }, 0)).toMatchObject({
    status: 412,
    body: { code: 'version-conflict' },
  });
});

test("a rule set of another account's app is not found", async () => {
  const [owner, stranger] = [await aDeveloper(), await aDeveloper()];
  await owner.put('a', { rules: [RULE] });
  expect((await stranger.client.get(`${owner.api}/a`)).status).toBe(404);
  expect((await stranger.client.get(owner.api)).status).toBe(404);
  const theirs = { ruleSet: { rules: [RULE] } };
  expect((await stranger.client.send('PUT', `${owner.api}/a`, theirs)).status).toBe(404);
  expect((await stranger.client.send('DELETE', `${owner.api}/a`)).status).toBe(404);
});

test('the command lists and shows the rule sets of an app', async () => {
  const { put, clientId } = await aDeveloper();
  await put('vip', { rules: [RULE] });
  expect((await admin('rule-set', 'list', clientId)).value).toEqual([
    expect.objectContaining({ ruleSetId: 'vip', version: 1, ruleCount: 1 }),
  ]);
  expect((await admin('rule-set', 'show', clientId, 'vip')).value).toMatchObject({ rules: [RULE] });
  expect(await admin('rule-set', 'show', clientId, 'none')).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'not-found' } },
  });
});

test('the command exits with 1 after a wrong command line too, and says that it was wrong', async () => {
  expect(await admin('app', 'create', '--email', 'dev')).toMatchObject({
    exitCode: 1,
    value: { error: { code: 'usage-invalid', message: expect.stringContaining('e-mail address') } },
  });
});
