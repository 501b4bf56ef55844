import { randomUUID } from 'node:crypto';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { makeClientApps } from '#shared/stores/apps/client-apps.ts';
import { makeResults, type Results } from '#shared/stores/checks/results.ts';
import { makeDeliveries } from '#shared/stores/webhooks/deliveries.ts';
import { aCheckResult } from '../../support/builders/a-check-result.ts';
import { testStores } from '../../support/infrastructure/test-stores.ts';
import {
  A_LOCAL_CHECK,
  makeTestApp,
  type RunningGateway,
  startGateway,
  type TestApp,
} from '../../support/systems/start-gateway.ts';

// Scenario: a stranger with a valid key sends the names of another client app's resources to every
// endpoint that takes a name. The endpoints come from the document that the gateway itself serves.

const stores = testStores(9);
const A_POLL_CHECK = { ...A_LOCAL_CHECK, async: true };
const SECRET_ROLE = 'a-role-of-the-owner';
let results: Results;
let gateway: RunningGateway;
let owner: TestApp;
let stranger: TestApp;

beforeAll(async () => {
  await stores.redis.set(GENERATION_KEY, 'test');
  results = makeResults(stores.redis);
  [owner, stranger] = [makeTestApp(), makeTestApp()];
  const clientApps = makeClientApps(stores.redis);
  for (const { document } of [owner, stranger]) await clientApps.project(document);
  gateway = await stores.use(startGateway(stores.config));
});

const requestIdOf = async (response: Response): Promise<string> => {
  expect(response.status).toBe(202);
  return ((await response.json()) as { requestId: string }).requestId;
};

/** A check of the owner, with or without a result. */
async function theirCheck(isDone: boolean): Promise<string> {
  const requestId = await requestIdOf(await gateway.post(owner, A_POLL_CHECK));
  const resultJson = aCheckResult({ requestId, roles: [{ id: SECRET_ROLE, granted: true }] });
  const acceptedAtMs = Date.now();
  const retainUntil = acceptedAtMs + 60_000;
  if (isDone) await results.saveIfAbsent({ requestId, resultJson, acceptedAtMs, retainUntil });
  return requestId;
}

/** The parts of an answer that could reveal something to the stranger. */
const tellTales = async (response: Response) => ({
  status: response.status,
  headers: [...response.headers.keys()].sort(),
  body: { ...((await response.json()) as object), instance: '' },
});

const read = (requestId: string, headers?: Record<string, string>) =>
  gateway.get(stranger, `/access-control/check-roles/responses/${requestId}`, headers);

const RULE_SETS = '/access-control/rule-sets';
const SECRET_RULE = { ...A_LOCAL_CHECK.rules[0], roleId: SECRET_ROLE };
const THEIR_SET = { rules: [SECRET_RULE] };
const putTheirs = (id: string) => gateway.send(owner, 'PUT', `${RULE_SETS}/${id}`, THEIR_SET);
/** A write by the stranger, with its id and preconditions, never sees or changes the owner's rule
 * set. */
async function writeTheirs(method: 'PUT' | 'DELETE', headers: Record<string, string> = {}) {
  const id = `set-${randomUUID()}`;
  const body = method === 'PUT' ? { rules: A_LOCAL_CHECK.rules } : undefined;
  const before = await putTheirs(id);
  const answer = await gateway.send(stranger, method, `${RULE_SETS}/${id}`, body, headers);
  const after = await gateway.get(owner, `${RULE_SETS}/${id}`);
  expect(await after.json()).toEqual(await before.json());
  return answer.status;
}

/** A role of the owner's rule set and one of a rule set that never existed get the same answer. */
async function expectNoRole(path: string): Promise<void> {
  await putTheirs('theirs');
  const ask = (ruleSet: string) => ({
    subject: { type: 'wallet', id: A_LOCAL_CHECK.account },
    action: { name: 'enter' },
    resource: { type: 'role', id: `${ruleSet}/${SECRET_ROLE}` },
  });
  const headers = { 'x-request-id': 'mine' };
  const answers = [
    await gateway.send(stranger, 'POST', path, ask('theirs'), headers),
    await gateway.send(stranger, 'POST', path, ask('unknown'), headers),
  ];
  const [foreign, invented] = await Promise.all(answers.map(tellTales));
  expect(foreign).toMatchObject({ status: 400, body: { code: 'rule-set-unknown' } });
  expect(foreign).toEqual(invented);
}

const BATCH = '/access-control/check-roles/batch';
const A_BATCH = { entries: [A_LOCAL_CHECK.account], rules: A_LOCAL_CHECK.rules };
const theirBatch = async (): Promise<string> =>
  requestIdOf(await gateway.send(owner, 'POST', BATCH, A_BATCH));
/** The owner's batch and a batch that never existed get the same answer. */
async function expectNoBatch(pathOf: (requestId: string) => string, headers = {}): Promise<void> {
  const answers = [
    await gateway.get(stranger, pathOf(await theirBatch()), headers),
    await gateway.get(stranger, pathOf('unknown'), headers),
  ];
  const [foreign, invented] = await Promise.all(answers.map(tellTales));
  expect(foreign).toMatchObject({ status: 404, body: { code: 'request-not-found' } });
  expect(foreign).toEqual(invented);
}

const WATCHES = '/access-control/watches';
const SECRET_CALLBACK = 'https://hooks.example.com/of-the-owner';
/** A watch of the owner with one member, called `theirs`. */
async function theirWatch(): Promise<void> {
  await putTheirs('theirs');
  const watch = { ruleSet: 'theirs', callbackUrl: SECRET_CALLBACK };
  expect([200, 201]).toContain((await gateway.send(owner, 'PUT', `${WATCHES}/theirs`, watch)).status);
  const add = [{ account: A_LOCAL_CHECK.account, ref: 'their-member' }];
  expect((await gateway.send(owner, 'POST', `${WATCHES}/theirs/members`, { add })).status).toBe(200);
}
/** The owner's watch and a watch that never existed get the same answer, and neither changes. */
async function expectNoWatch(method: string, rest = '', body?: unknown): Promise<void> {
  await theirWatch();
  const before = await (await gateway.get(owner, `${WATCHES}/theirs`)).text();
  const ask = (id: string) =>
    method === 'GET'
      ? gateway.get(stranger, `${WATCHES}/${id}${rest}`)
      : gateway.send(stranger, method, `${WATCHES}/${id}${rest}`, body);
  const [foreign, invented] = await Promise.all([await ask('theirs'), await ask('unknown')].map(tellTales));
  expect(foreign).toMatchObject({ status: 404, body: { code: 'watch-not-found' } });
  // The detail may repeat the id that the stranger sent.
  expect(JSON.stringify(foreign).replace('theirs', 'unknown')).toBe(JSON.stringify(invented));
  expect(await (await gateway.get(owner, `${WATCHES}/theirs`)).text()).toBe(before);
}
/** A write by the stranger under the same id writes the stranger's own watch. */
async function writeTheirWatch(method: 'PUT' | 'DELETE', headers: Record<string, string> = {}) {
  await theirWatch();
  await gateway.send(stranger, 'PUT', `${RULE_SETS}/mine`, { rules: A_LOCAL_CHECK.rules });
  await gateway.send(stranger, 'DELETE', `${WATCHES}/theirs`);
  const body =
    method === 'PUT' ? { ruleSet: 'mine', callbackUrl: 'https://hooks.example.com/mine' } : undefined;
  const answer = await gateway.send(stranger, method, `${WATCHES}/theirs`, body, headers);
  const after = await gateway.get(owner, `${WATCHES}/theirs`);
  expect(await after.json()).toMatchObject({ callbackUrl: SECRET_CALLBACK, members: 1 });
  return answer.status;
}
async function expectNothingListed(path: string): Promise<void> {
  await theirWatch();
  const text = await (await gateway.get(stranger, path)).text();
  expect(text).not.toContain(SECRET_CALLBACK);
  expect(text).not.toContain('their-member');
}

const DELIVERIES = '/access-control/deliveries';
/** The id of a webhook of the owner that nobody took. */
async function theirDelivery(): Promise<string> {
  const requestId = await theirCheck(true);
  const at = new Date().toISOString();
  const retainUntil = new Date(Date.now() + 60_000).toISOString();
  const { clientId, accountId } = owner.document;
  const delivery = {
    requestId,
    clientId,
    accountId,
    callbackUrl: SECRET_CALLBACK,
    acceptedAt: at,
    retainUntil,
  };
  await makeDeliveries(stores.redis).record({
    ...delivery,
    resendCount: 0,
    attempt: 1,
    at,
    state: 'exhausted',
    class: 'http-5xx',
  });
  return `msg_${requestId}`;
}
/** The owner's delivery and a delivery that never existed get the same answer, and neither is sent. */
async function expectNoDelivery(method: 'GET' | 'POST', rest = ''): Promise<void> {
  const theirs = await theirDelivery();
  const ask = (id: string) => gateway.send(stranger, method, `${DELIVERIES}/${id}${rest}`);
  const answers = [await ask(theirs), await ask('msg_unknown')];
  const [foreign, invented] = await Promise.all(answers.map(tellTales));
  expect(foreign).toMatchObject({ status: 404, body: { code: 'delivery-not-found' } });
  expect(foreign).toEqual(invented);
  const after = await gateway.get(owner, `${DELIVERIES}/${theirs}`);
  expect(await after.json()).toMatchObject({ webhookId: theirs, state: 'exhausted' });
}
async function expectNoDeliveryListed(query: string): Promise<void> {
  const theirs = await theirDelivery();
  const answer = await gateway.get(stranger, `${DELIVERIES}?${query.replace('THEIRS', theirs)}`);
  expect([answer.status, await answer.json()]).toEqual([200, { deliveries: [] }]);
}

/** For every parameter that takes a name: the answer if the name is another client app's. */
const PROBES: Readonly<Record<string, () => Promise<void>>> = {
  'GET /access-control/check-roles/responses/{requestId} path requestId': async () => {
    for (const isDone of [false, true]) {
      const theirs = await theirCheck(isDone);
      const answers = [await read(theirs), await read(`${theirs.slice(0, -4)}AAAA`), await read('unknown')];
      const [foreign, ...invented] = await Promise.all(answers.map(tellTales));
      expect(foreign).toMatchObject({ status: 404, body: { code: 'request-not-found' } });
      for (const other of invented) expect(other).toEqual(foreign);
    }
  },
  'GET /access-control/check-roles/responses/{requestId} header Prefer': async () => {
    const theirs = await theirCheck(false);
    // At once: a wait would reveal that there is something to wait for.
    const [foreign, invented] = [await read(theirs, { prefer: 'wait=20' }), await read('unknown')];
    expect(await tellTales(foreign)).toEqual(await tellTales(invented));
    const after = await stores.redis.keys(`*${theirs}*`);
    expect(after).toEqual([]);
  },
  'POST /access-control/check-roles header Idempotency-Key': async () => {
    const headers = { 'idempotency-key': randomUUID() };
    const theirs = await requestIdOf(await gateway.post(owner, A_POLL_CHECK, headers));
    const [same, other] = [
      await gateway.post(stranger, A_POLL_CHECK, headers),
      await gateway.post(stranger, { ...A_POLL_CHECK, onUndetermined: 'deny' }, headers),
    ];
    expect(same.headers.get('idempotency-replayed')).toBeNull();
    expect(await requestIdOf(same)).not.toBe(theirs);
    // By now the key is the stranger's own, with another body.
    expect(other.status).toBe(422);
    const again = await gateway.post(owner, A_POLL_CHECK, headers);
    expect(await requestIdOf(again)).toBe(theirs);
  },
  'GET /access-control/rule-sets/{id} path id': async () => {
    await putTheirs('theirs');
    const answers = [
      await gateway.get(stranger, `${RULE_SETS}/theirs`),
      await gateway.get(stranger, `${RULE_SETS}/unknown`),
    ];
    const [foreign, invented] = await Promise.all(answers.map(tellTales));
    expect(foreign).toMatchObject({ status: 404, body: { code: 'rule-set-not-found' } });
    expect(foreign).toEqual(invented);
    const check = { account: A_LOCAL_CHECK.account, ruleSet: 'theirs', async: true };
    expect((await gateway.post(stranger, check)).status).toBe(422);
  },
  'GET /access-control/rule-sets query limit': async () => {
    await putTheirs('theirs');
    const list = await gateway.get(stranger, `${RULE_SETS}?limit=200`);
    expect(await list.text()).not.toContain(SECRET_ROLE);
  },
  'GET /access-control/rule-sets query after': async () => {
    await putTheirs('theirs');
    const list = await gateway.get(stranger, `${RULE_SETS}?after=theirr`);
    expect(await list.text()).not.toContain(SECRET_ROLE);
  },
  'POST /access/v1/evaluation header X-Request-ID': () => expectNoRole('/access/v1/evaluation'),
  'POST /access/v1/evaluations header X-Request-ID': () => expectNoRole('/access/v1/evaluations'),
  'PUT /access-control/rule-sets/{id} path id': async () => expect(await writeTheirs('PUT')).toBe(201),
  'PUT /access-control/rule-sets/{id} header If-Match': async () =>
    expect(await writeTheirs('PUT', { 'if-match': '"1"' })).toBe(412),
  'PUT /access-control/rule-sets/{id} header If-None-Match': async () =>
    expect(await writeTheirs('PUT', { 'if-none-match': '*' })).toBe(201),
  'DELETE /access-control/rule-sets/{id} path id': async () => expect(await writeTheirs('DELETE')).toBe(204),
  'DELETE /access-control/rule-sets/{id} header If-Match': async () =>
    expect(await writeTheirs('DELETE', { 'if-match': '"1"' })).toBe(412),
  'DELETE /access-control/rule-sets/{id} header If-None-Match': async () =>
    expect(await writeTheirs('DELETE', { 'if-none-match': '*' })).toBe(204),
  [`GET ${BATCH}/{requestId} path requestId`]: () => expectNoBatch((id) => `${BATCH}/${id}`),
  // At once: a wait would reveal that there is something to wait for.
  [`GET ${BATCH}/{requestId} header Prefer`]: () =>
    expectNoBatch((id) => `${BATCH}/${id}`, { prefer: 'wait=20' }),
  [`GET ${BATCH}/{requestId}/results path requestId`]: () => expectNoBatch((id) => `${BATCH}/${id}/results`),
  [`GET ${BATCH}/{requestId}/results query from`]: () =>
    expectNoBatch((id) => `${BATCH}/${id}/results?from=1000000`),
  [`GET ${BATCH}/{requestId}/results query limit`]: () =>
    expectNoBatch((id) => `${BATCH}/${id}/results?limit=1`),
  async [`POST ${BATCH} header Idempotency-Key`]() {
    const headers = { 'idempotency-key': randomUUID() };
    const theirs = await requestIdOf(await gateway.send(owner, 'POST', BATCH, A_BATCH, headers));
    const same = await gateway.send(stranger, 'POST', BATCH, A_BATCH, headers);
    expect(same.headers.get('idempotency-replayed')).toBeNull();
    expect(await requestIdOf(same)).not.toBe(theirs);
  },
  [`GET ${WATCHES} query limit`]: () => expectNothingListed(`${WATCHES}?limit=200`),
  [`GET ${WATCHES} query after`]: () => expectNothingListed(`${WATCHES}?after=theirr`),
  [`GET ${WATCHES}/{id} path id`]: () => expectNoWatch('GET'),
  [`PUT ${WATCHES}/{id} path id`]: async () => expect(await writeTheirWatch('PUT')).toBe(201),
  [`PUT ${WATCHES}/{id} header If-Match`]: async () =>
    expect(await writeTheirWatch('PUT', { 'if-match': '"1"' })).toBe(412),
  [`PUT ${WATCHES}/{id} header If-None-Match`]: async () =>
    expect(await writeTheirWatch('PUT', { 'if-none-match': '*' })).toBe(201),
  [`DELETE ${WATCHES}/{id} path id`]: async () => expect(await writeTheirWatch('DELETE')).toBe(204),
  [`DELETE ${WATCHES}/{id} header If-Match`]: async () =>
    expect(await writeTheirWatch('DELETE', { 'if-match': '"1"' })).toBe(412),
  [`DELETE ${WATCHES}/{id} header If-None-Match`]: async () =>
    expect(await writeTheirWatch('DELETE', { 'if-none-match': '*' })).toBe(204),
  ...Object.fromEntries(
    ['pause', 'resume', 'check', 'release'].map((action) => [
      `POST ${WATCHES}/{id}/${action} path id`,
      () => expectNoWatch('POST', `/${action}`),
    ]),
  ),
  [`POST ${WATCHES}/{id}/members path id`]: () =>
    expectNoWatch('POST', '/members', { remove: ['their-member'] }),
  [`GET ${WATCHES}/{id}/members path id`]: () => expectNoWatch('GET', '/members'),
  [`GET ${WATCHES}/{id}/members query limit`]: () =>
    expectNothingListed(`${WATCHES}/theirs/members?limit=200`),
  [`GET ${WATCHES}/{id}/members query after`]: () => expectNothingListed(`${WATCHES}/theirs/members?after=a`),
  [`GET ${WATCHES}/{id}/members/{member} path id`]: () => expectNoWatch('GET', '/members/their-member'),
  [`GET ${WATCHES}/{id}/members/{member} path member`]: () =>
    expectNothingListed(`${WATCHES}/theirs/members/their-member`),
  [`GET ${DELIVERIES} query limit`]: () => expectNoDeliveryListed('limit=200'),
  [`GET ${DELIVERIES} query after`]: () => expectNoDeliveryListed('after=THEIRS'),
  [`GET ${DELIVERIES} query state`]: () => expectNoDeliveryListed('state=exhausted'),
  [`GET ${DELIVERIES}/{webhookId} path webhookId`]: () => expectNoDelivery('GET'),
  [`POST ${DELIVERIES}/{webhookId}/resend path webhookId`]: () => expectNoDelivery('POST', '/resend'),
};

type Operation = { readonly parameters?: readonly { readonly name: string; readonly in: string }[] };
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

test('every parameter that takes a name has a probe', async () => {
  const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document;
  const places = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) =>
      parameters.map((parameter) => `${method.toUpperCase()} ${path} ${parameter.in} ${parameter.name}`),
    ),
  );
  expect(places.sort()).toEqual(Object.keys(PROBES).sort());
});

test.each(Object.keys(PROBES))('%s: reveals nothing about another client app', async (place) => {
  await PROBES[place]?.();
});
