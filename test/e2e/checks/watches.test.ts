/** @jest-environment ./test/support/jest/shared-system-environment.ts */
// Members of a watch on the demo chain: tokens move, and the receiver gets the changes.
// Too many revocations at once are held, survive an emptied Redis, and are sent by a release.
import { BATCH_PATH, WATCHES_PATH } from '#shared/contracts/paths.ts';
import { sendTransaction } from '../../../deploy/local/demo/send-transaction.ts';
import { callJsonRpc } from '../../../deploy/local/infrastructure/json-rpc.ts';
import { makeOpenApi } from '../../../services/gateway/docs/openapi.ts';
import {
  type ReceivedWebhook,
  receiveWebhooks,
  type WebhookReceiver,
} from '../../support/fakes/receive-webhooks.ts';
import { faultOf, type OpenApiDocument } from '../../support/judges/openapi-validator.ts';
import { makeBatchClient } from '../../support/systems/batch-client.ts';
import { sharedSystem } from '../../support/systems/shared-system.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Checks read a head that was fetched at most this long before they began. */
const HEAD_AGE_MS_MAX = 500;
const TOKENS = 10_000_000n;
const MEMBERS = Array.from({ length: 6 }, (_, i) => `0x${(0xabc000 + i).toString(16).padStart(40, '1')}`);

const system = sharedSystem();
let receiver: WebhookReceiver;
/** When the last transfer was in a block, by `performance.now()`. */
let movedAtMs = 0;
beforeAll(async () => {
  receiver = await system.use(receiveWebhooks());
  await Promise.all(MEMBERS.map(impersonate));
  for (const member of MEMBERS) await transfer(system.chain.holder, member);
  const rules = [holderRule('5')];
  expect((await call('PUT', '/access-control/rule-sets/holders', { rules })).status).toBe(201);
});
afterAll(async () => {
  // The next suite of this system expects the holder to hold everything.
  for (const member of MEMBERS)
    if ((await balanceOf(member)) >= TOKENS) await transfer(member, system.chain.holder);
});

const holderRule = (minToken: string) => ({
  type: 'ERC20',
  chainId: system.chain.chainId,
  contractAddress: system.chain.erc20,
  roleId: 'holder',
  minToken,
});

async function impersonate(account: string): Promise<void> {
  await callJsonRpc(system.chain.rpc, 'anvil_setBalance', [account, '0xde0b6b3a7640000']);
  await callJsonRpc(system.chain.rpc, 'anvil_impersonateAccount', [account]);
}

const word = (hex: string): string => hex.padStart(64, '0');

async function balanceOf(account: string): Promise<bigint> {
  const read = { to: system.chain.erc20, data: `0x70a08231${word(account.slice(2))}` };
  return BigInt(String(await callJsonRpc(system.chain.rpc, 'eth_call', [read, 'latest'])));
}

async function transfer(from: string, to: string): Promise<void> {
  const data = `0xa9059cbb${word(to.slice(2).toLowerCase())}${word(TOKENS.toString(16))}`;
  await sendTransaction(system.chain.rpc, { from, to: system.chain.erc20, data });
  movedAtMs = performance.now();
}

const document = JSON.parse(JSON.stringify(makeOpenApi(''))) as OpenApiDocument;

/** Every answer is validated against the OpenAPI document. */
async function call(method: string, path: string, sent?: unknown) {
  const { client } = system;
  const { status, headers, text, body } = await client.send<Record<string, unknown>>(method, path, sent);
  const [pathname = ''] = path.split('?');
  const asked = { method: method.toLowerCase(), path: pathname };
  const told = { status, type: headers.get('content-type'), body: text === '' ? undefined : body };
  const fault = faultOf(document, { ...asked, ...told });
  if (fault !== undefined) throw new Error(`${fault}\n${text}`);
  return { status, body };
}

type Event = {
  readonly type: string;
  readonly watchId: string;
  readonly ref?: string;
  readonly sequence: number;
  readonly cause: string;
  readonly roles: readonly {
    readonly id: string;
    readonly granted: boolean;
    readonly before: boolean | null;
  }[];
};
const eventOf = ({ body }: ReceivedWebhook): Event => JSON.parse(body) as Event;
/** Each event once, although a message may arrive twice. */
const eventsOf = (watchId: string): Event[] =>
  [...new Map(receiver.deliveries.map((webhook) => [webhook.id, eventOf(webhook)])).values()].filter(
    (event) => event.watchId === watchId,
  );
const changesOf = (watchId: string): Event[] =>
  eventsOf(watchId).filter(({ type, cause }) => type === 'roles.changed' && cause !== 'first');

async function watchMembers(watchId: string, settings: object = {}): Promise<void> {
  const body = { ruleSet: 'holders', callbackUrl: receiver.url, everySeconds: 604_800, ...settings };
  expect((await call('PUT', `${WATCHES_PATH}/${watchId}`, body)).status).toBe(201);
  const add = MEMBERS.map((account, i) => ({ account, ref: `m${i}` }));
  const added = await call('POST', `${WATCHES_PATH}/${watchId}/members`, { add });
  expect(added).toEqual({ status: 200, body: { added: 6, replaced: 0, removed: 0, members: 6 } });
  await waitUntil('the first event of every member', async () => eventsOf(watchId).length === MEMBERS.length);
  expect(eventsOf(watchId).every(({ cause, sequence }) => cause === 'first' && sequence === 1)).toBe(true);
}
const stateOf = async (watchId: string) => (await call('GET', `${WATCHES_PATH}/${watchId}`)).body;
/** Asks for a sweep that sees every transfer so far. */
async function sweep(watchId: string): Promise<void> {
  const isFresh = () => performance.now() - movedAtMs > HEAD_AGE_MS_MAX;
  await waitUntil('the heads from before the transfer to be too old', isFresh);
  await call('POST', `${WATCHES_PATH}/${watchId}/check`);
}

test('a sweep sends an event only for the member whose role changed', async () => {
  await watchMembers('swept', { follow: false });
  await transfer(MEMBERS[0] ?? '', system.chain.holder);
  await sweep('swept');
  await waitUntil('the revocation', async () => changesOf('swept').length > 0);
  await transfer(system.chain.holder, MEMBERS[0] ?? '');
  await sweep('swept');
  await waitUntil('the grant', async () => changesOf('swept').length > 1);
  expect(changesOf('swept')).toMatchObject([
    { ref: 'm0', sequence: 2, cause: 'schedule', roles: [{ id: 'holder', granted: false, before: true }] },
    { ref: 'm0', sequence: 3, cause: 'schedule', roles: [{ id: 'holder', granted: true, before: false }] },
  ]);
});

test('a preview tells who would gain or lose a role and why, and neither sends nor changes anything of the watch', async () => {
  await watchMembers('previewed', { follow: false });
  await transfer(system.chain.holder, MEMBERS[0] ?? '');
  await waitUntil(
    'the heads from before the transfer to be too old',
    () => performance.now() - movedAtMs > HEAD_AGE_MS_MAX,
  );
  const membersPath = `${WATCHES_PATH}/previewed/members`;
  const before = await call('GET', membersPath);
  const asked = { watch: 'previewed', rules: [holderRule('15')], callbackUrl: receiver.url, explain: true };
  const accepted = await call('POST', BATCH_PATH, asked);
  expect(accepted).toMatchObject({ status: 202, body: { entries: 6 } });
  const requestId = String(accepted.body['requestId']);
  const told = await receiver.waitFor((webhook) => webhook.requestId === requestId);
  const roles = [{ id: 'holder', granted: 1, denied: 5, undetermined: 0, gained: 0, lost: 5 }];
  expect(JSON.parse(told.body)).toMatchObject({ type: 'batch.completed', status: 'completed', roles });
  const lines = await makeBatchClient({
    url: system.ready.gateways[0] ?? '',
    apiKey: system.ready.app.apiKey,
  }).lines(requestId);
  expect(lines).toMatchObject(
    MEMBERS.map((account, i) => ({
      account,
      ref: `m${i}`,
      before: { holder: true },
      roles: [{ id: 'holder', granted: i === 0 }],
      details: [{ ruleIndex: 0, observed: i === 0 ? '20' : '10', required: { min: '15' } }],
    })),
  );
  expect(await call('GET', membersPath)).toEqual(before);
  expect(changesOf('previewed')).toEqual([]);
  await transfer(MEMBERS[0] ?? '', system.chain.holder);
  expect((await call('DELETE', `${WATCHES_PATH}/previewed`)).status).toBe(204);
});

test('members are listed with their roles, one by one and in pages, as the OpenAPI document says', async () => {
  await watchMembers('listed', { follow: false });
  const path = `${WATCHES_PATH}/listed/members`;
  const first = await call('GET', `${path}?limit=4`);
  const second = await call('GET', `${path}?limit=4&after=${first.body['next']}`);
  const refs = [first, second].flatMap(({ body }) =>
    (body['members'] as { ref: string }[]).map(({ ref }) => ref),
  );
  expect(refs).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5']);
  expect((await call('GET', `${path}/m3`)).body).toMatchObject({ ref: 'm3', sequence: 1, errors: [] });
  expect((await call('GET', `${path}/nobody`)).status).toBe(404);
  expect((await call('GET', WATCHES_PATH)).body['watches']).toContainEqual(
    expect.objectContaining({ watchId: 'listed', members: MEMBERS.length }),
  );
  expect((await call('DELETE', `${WATCHES_PATH}/listed`)).status).toBe(204);
});

test('a transfer causes an event without a sweep', async () => {
  await watchMembers('followed');
  await waitUntil('the contract to be followed', async () => {
    const { following } = await stateOf('followed');
    return (following as { state: string }[])[0]?.state === 'live';
  });
  await transfer(MEMBERS[1] ?? '', system.chain.holder);
  await waitUntil('the revocation', async () => changesOf('followed').length > 0);
  const ofTransfer = {
    ...{ ref: 'm1', sequence: 2, cause: 'transfer' },
    transfer: {
      ...{ chainId: system.chain.chainId, contractAddress: system.chain.erc20.toLowerCase(), logIndex: 0 },
      transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    },
  };
  expect(changesOf('followed')).toMatchObject([ofTransfer]);
  await transfer(system.chain.holder, MEMBERS[1] ?? '');
  await waitUntil('the grant', async () => changesOf('followed').length > 1);
  expect(changesOf('followed')[1]).toMatchObject({ ref: 'm1', sequence: 3, cause: 'transfer' });
});

test('with a grace, a revocation is sent after a second check alone, and tokens that come back cost no role', async () => {
  await watchMembers('graced', { graceSeconds: 3, explain: true });
  await waitUntil('the contract to be followed', async () => {
    const { following } = await stateOf('graced');
    return (following as { state: string }[])[0]?.state === 'live';
  });
  const shown = async (ref: string) => (await call('GET', `${WATCHES_PATH}/graced/members/${ref}`)).body;
  const [back = '', gone = ''] = [MEMBERS[3], MEMBERS[4]];
  for (const member of [back, gone]) await transfer(member, system.chain.holder);
  await waitUntil('the pending revocations', async () =>
    (await Promise.all(['m3', 'm4'].map(shown))).every(({ pending }) => pending !== undefined),
  );
  expect(await shown('m4')).toMatchObject({
    roles: [{ id: 'holder', granted: true }],
    pending: [{ id: 'holder', since: expect.any(String) }],
  });
  await transfer(system.chain.holder, back);
  await waitUntil('the revocation', async () => changesOf('graced').length > 0);
  expect(changesOf('graced')).toMatchObject([
    {
      ref: 'm4',
      sequence: 2,
      cause: 'transfer',
      transfer: { logIndex: 0 },
      roles: [{ granted: false, before: true }],
      details: [{ ruleIndex: 0, outcome: 'denied', observed: '0', required: { min: '5' } }],
    },
  ]);
  await waitUntil('the grant', async () => (await shown('m3'))['pending'] === undefined);
  expect(await shown('m3')).toMatchObject({ sequence: 1, roles: [{ id: 'holder', granted: true }] });
  await transfer(system.chain.holder, gone);
  // The first checks of another watch read no earlier block from now on.
  await waitUntil('the second grant', async () => changesOf('graced').length > 1);
  expect((await call('DELETE', `${WATCHES_PATH}/graced`)).status).toBe(204);
});

test('a paused watch sends nothing until it is resumed', async () => {
  await watchMembers('paused', { follow: false });
  expect((await call('POST', `${WATCHES_PATH}/paused/pause`)).body).toMatchObject({ state: 'paused' });
  await transfer(MEMBERS[2] ?? '', system.chain.holder);
  await sweep('paused');
  const shown = await call('GET', `${WATCHES_PATH}/paused/members/m2`);
  expect(shown.body).toMatchObject({ sequence: 1, roles: [{ id: 'holder', granted: true }] });
  await call('POST', `${WATCHES_PATH}/paused/resume`);
  await waitUntil('the revocation', async () => changesOf('paused').length > 0);
  expect(changesOf('paused')).toMatchObject([{ ref: 'm2', sequence: 2 }]);
  await transfer(system.chain.holder, MEMBERS[2] ?? '');
});

test('a watch beyond its share of the quota is paused with the reason, and sends all events once it is resumed with a larger one', async () => {
  const settings = { ruleSet: 'holders', callbackUrl: receiver.url, everySeconds: 604_800, follow: false };
  const path = `${WATCHES_PATH}/quota`;
  expect((await call('PUT', path, { ...settings, quotaShare: 1e-9 })).status).toBe(201);
  const add = MEMBERS.map((account, i) => ({ account, ref: `m${i}` }));
  expect((await call('POST', `${path}/members`, { add })).status).toBe(200);
  await waitUntil('the pause', async () => (await stateOf('quota'))['state'] === 'paused');
  expect(await stateOf('quota')).toMatchObject({ reason: 'quota-share-exceeded', members: MEMBERS.length });
  expect(eventsOf('quota')).toEqual([]);
  expect((await call('PUT', path, { ...settings, quotaShare: 0.9 })).body).toMatchObject({ state: 'paused' });
  expect((await call('POST', `${path}/resume`)).body).toMatchObject({ state: 'active' });
  await waitUntil('the first events', async () => eventsOf('quota').length >= MEMBERS.length);
  expect(
    eventsOf('quota')
      .map(({ ref, sequence, cause }) => [ref, sequence, cause])
      .sort(),
  ).toEqual(MEMBERS.map((_, i) => [`m${i}`, 1, 'first']));
});

test('too many revocations are held, survive an emptied Redis, and are sent by a release', async () => {
  await watchMembers('held', { follow: false, massRevocation: { share: 0.5, atLeast: 3 } });
  for (const member of MEMBERS.slice(0, 4)) await transfer(member, system.chain.holder);
  await sweep('held');
  await waitUntil('watch.held', async () => eventsOf('held').some(({ type }) => type === 'watch.held'));
  expect(eventsOf('held').find(({ type }) => type === 'watch.held')).toEqual({
    type: 'watch.held',
    watchId: 'held',
    roles: [{ id: 'holder', holders: 6, revocations: 4 }],
  });
  // One of the members gets the role back: its revocation is dropped.
  await transfer(system.chain.holder, MEMBERS[0] ?? '');
  await sweep('held');
  await waitUntil('the dropped revocation', async () => {
    const { body } = await call('GET', `${WATCHES_PATH}/held/members/m0`);
    return !JSON.stringify(body).includes('revocationHeld');
  });
  expect(changesOf('held')).toEqual([]);
  expect((await system.admin('store', 'rebuild')).exitCode).toBe(0);
  await waitUntil('the rebuilt watch', async () => (await stateOf('held'))['state'] === 'held');
  const released = await system.admin('watch', 'release', system.ready.app.clientId, 'held');
  expect(released.value).toMatchObject({ state: 'active', held: [] });
  await waitUntil('the released revocations', async () => changesOf('held').length >= 3);
  expect(
    changesOf('held')
      .map(({ ref, sequence, cause }) => [ref, sequence, cause])
      .sort(),
  ).toEqual([
    ['m1', 2, 'release'],
    ['m2', 2, 'release'],
    ['m3', 2, 'release'],
  ]);
});

test('every event has its own id, and every attempt sends the same bytes', () => {
  const byId = new Map<string, string>();
  for (const { id, body } of receiver.deliveries) {
    expect(byId.get(id) ?? body).toBe(body);
    byId.set(id, body);
  }
  expect(new Set(byId.values()).size).toBe(byId.size);
});

test('a rule set in use cannot be deleted, and a deleted watch is gone', async () => {
  const deletion = await call('DELETE', '/access-control/rule-sets/holders');
  expect([deletion.status, deletion.body['code']]).toEqual([409, 'rule-set-in-use']);
  for (const watchId of ['swept', 'followed', 'paused', 'quota', 'held'])
    expect((await call('DELETE', `${WATCHES_PATH}/${watchId}`)).status).toBe(204);
  const gone = await call('GET', `${WATCHES_PATH}/held`);
  expect([gone.status, gone.body['code']]).toEqual([404, 'watch-not-found']);
  expect((await call('DELETE', '/access-control/rule-sets/holders')).status).toBe(204);
});
