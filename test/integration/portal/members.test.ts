import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  createApp,
  makePortalClient,
  PASSWORD,
  type PortalClient,
  type RunningPortal,
  signUp,
  startPortal,
} from '../../support/systems/start-portal.ts';

// Scenario: the owner of an app invites others, who use it at another portal within their roles.
// Removed members, strangers and accounts that are made again under a member's address get nothing.

const stores = testStores(8);
const { config } = stores;
let portal: RunningPortal;
let other: RunningPortal;

beforeAll(async () => {
  await stores.replay();
  [portal, other] = await Promise.all([stores.use(startPortal(config)), stores.use(startPortal(config))]);
});

type Role = 'viewer' | 'developer' | 'admin';
type Team = {
  owner: string;
  members: { accountId: string; email: string; role: Role }[];
  invitations: { invitationId: string; email?: string }[];
};

let owner: PortalClient;
let path: string;
beforeEach(async () => {
  owner = await signUp(portal.url);
  path = `/api/apps/${(await createApp(owner, 'Shared')).clientId}`;
});

const invite = async (by: PortalClient, role: Role, email?: string) =>
  (await by.send<{ token: string }>('POST', `${path}/invitations`, { role, ...(email && { email }) })).body
    .token;
const accept = (by: PortalClient, token: string) =>
  by.send<{ clientId: string }>('POST', '/api/invitations/accept', { token });
/** A new member, signed in at the other portal. */
async function join(role: Role): Promise<PortalClient> {
  const member = await signUp(other.url);
  expect((await accept(member, await invite(owner, role))).status).toBe(200);
  return member;
}
const statusesOf = async (member: PortalClient) => [
  (await member.get(path)).status,
  (await member.get(`${path}/usage`)).status,
  (await member.send('POST', `${path}/keys`, { name: 'k' })).status,
  (await member.send('PATCH', path, { name: 'Shared' })).status,
  (await member.send('POST', `${path}/invitations`, { role: 'viewer' })).status,
  (await member.send('DELETE', path)).status,
];
const team = async () => (await owner.get<Team>(`${path}/members`)).body;

test('each role has its permissions, and the app is in the list of its members', async () => {
  const viewer = await join('viewer');
  expect(await statusesOf(viewer)).toEqual([200, 200, 403, 403, 403, 403]);
  const developer = await join('developer');
  expect(await statusesOf(developer)).toEqual([200, 200, 201, 403, 403, 403]);
  expect((await developer.send('POST', `${path}/secret/rotate`, { overlapHours: 1 })).status).toBe(201);
  const admin = await join('admin');
  expect(await statusesOf(admin)).toEqual([200, 200, 201, 200, 201, 403]);
  expect((await viewer.send('POST', `${path}/keys`, { name: 'k' })).body).toMatchObject({
    code: 'role-required',
  });
  const [listed] = (await viewer.get<{ clientId: string; role: string }[]>('/api/apps')).body;
  expect(listed).toMatchObject({ clientId: path.split('/').at(-1), role: 'viewer' });
  expect((await team()).members.map(({ email, role }) => [email, role])).toEqual([
    [viewer.email, 'viewer'],
    [developer.email, 'developer'],
    [admin.email, 'admin'],
  ]);
  const stranger = await signUp(other.url);
  expect(await statusesOf(stranger)).toEqual([404, 404, 404, 404, 404, 404]);
});

test('a removed member has no access from the next request on, and may leave too', async () => {
  const member = await join('admin');
  const leaver = await join('viewer');
  const [{ accountId = '' } = {}] = (await team()).members;
  expect((await member.send('PATCH', `${path}/members/${accountId}`, { role: 'viewer' })).status).toBe(204);
  expect((await member.send('DELETE', `${path}/members/${accountId}`)).status).toBe(403);
  expect((await owner.send('DELETE', `${path}/members/${accountId}`)).status).toBe(204);
  expect(await statusesOf(member)).toEqual([404, 404, 404, 404, 404, 404]);
  expect((await member.get('/api/apps')).body).toEqual([]);
  expect((await leaver.send('POST', `${path}/leave`)).status).toBe(204);
  expect((await leaver.get(path)).status).toBe(404);
  expect((await team()).members).toEqual([]);
  expect((await owner.send('POST', `${path}/leave`)).status).toBe(404);
});

test('a link works once and for the invited address only, and not after it was withdrawn', async () => {
  const [invited, stranger] = [await signUp(other.url), await signUp(other.url)];
  const token = await invite(owner, 'developer', invited.email.toUpperCase());
  expect((await accept(stranger, token)).status).toBe(404);
  const read = await invited.send('POST', '/api/invitations/read', { token });
  expect(read.body).toMatchObject({ name: 'Shared', owner: owner.email, role: 'developer' });
  const both = await Promise.all([accept(invited, token), accept(invited.at(portal.url), token)]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 404]);
  expect((await accept(owner, await invite(owner, 'viewer'))).status).toBe(409);

  const withdrawn = await invite(owner, 'viewer');
  const { invitations } = await team();
  for (const { invitationId } of invitations)
    expect((await owner.send('DELETE', `${path}/invitations/${invitationId}`)).status).toBe(204);
  expect((await accept(stranger, withdrawn)).status).toBe(404);
  for (const wrong of [
    'x',
    `${path.split('/').at(-1)}.${'A'.repeat(43)}`,
    `app_${'0'.repeat(24)}.${'A'.repeat(43)}`,
  ])
    expect((await accept(stranger, wrong)).status).toBe(404);
});

test('the audit log names members to their team, and the membership is there again after Redis was wiped', async () => {
  const member = await join('developer');
  await member.send('POST', `${path}/keys`, { name: 'of a member' });
  type Entry = { actor: string; action: string; subject: string };
  const entries = (await owner.get<Entry[]>(`${path}/audit`)).body;
  expect(entries.map(({ actor, action }) => [actor, action]).slice(0, 3)).toEqual([
    [member.email, 'key-created'],
    [member.email, 'member-joined'],
    [owner.email, 'member-invited'],
  ]);
  expect((await owner.get<Entry[]>('/api/audit')).body[0]).toMatchObject({ actor: member.email });
  await stores.redis.flushdb();
  await stores.replay();
  const again = makePortalClient(other.url, member.email);
  await again.send('POST', '/api/sign-in', { email: member.email, password: PASSWORD });
  expect((await again.get(path)).body).toMatchObject({ role: 'developer' });
  expect((await again.get<unknown[]>('/api/apps')).body).toHaveLength(1);
  await owner.send('POST', '/api/sign-in', { email: owner.email, password: PASSWORD });
});

test('an account that is made again under the address of a deleted member has no access', async () => {
  const member = await join('admin');
  expect((await member.send('POST', '/api/account/delete', { password: PASSWORD })).status).toBe(204);
  const credentials = { email: member.email, password: PASSWORD };
  await member.send('POST', '/api/sign-up', credentials);
  await member.send('POST', '/api/sign-in', credentials);
  expect((await member.get(path)).status).toBe(404);
  expect((await team()).members).toEqual([]);
});

test('where only the invited may sign up, the link of an open invitation makes one account, and a closed portal none', async () => {
  await using invited = await startPortal(config, { PORTAL_SIGN_UP: 'invite' });
  await using closed = await startPortal(config, { PORTAL_SIGN_UP: 'closed' });
  const client = makePortalClient(invited.url);
  const invitation = await invite(owner, 'viewer', client.email);
  const ask = ({ url }: RunningPortal, email: string, sent: object) =>
    makePortalClient(url).send('POST', '/api/sign-up', { email, password: PASSWORD, ...sent });
  const refused = { status: 403, body: { code: 'sign-up-closed' } };
  expect(await ask(invited, client.email, {})).toMatchObject(refused);
  expect(await ask(invited, 'other@example.com', { invitation })).toMatchObject(refused);
  expect(await ask(closed, client.email, { invitation })).toMatchObject(refused);
  expect((await ask(invited, client.email, { invitation })).status).toBe(202);
  expect(
    (await client.send('POST', '/api/sign-in', { email: client.email, password: PASSWORD })).status,
  ).toBe(200);
  expect((await accept(client, invitation)).status).toBe(200);
  expect(await ask(invited, client.email, { invitation })).toMatchObject(refused);
});
