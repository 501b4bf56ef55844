import { randomUUID } from 'node:crypto';
import { makeClientApps } from '#shared/redis/client-apps.ts';
import type { RedisConnection } from '#shared/redis/connect.ts';
import { makeResults, type Results } from '#shared/redis/results.ts';
import { GENERATION_KEY } from '#shared/redis/view.ts';
import { aCheckResult } from '../support/a-check-result.ts';
import { connectTestRedis, testConfig } from '../support/connections.ts';
import {
  A_LOCAL_CHECK,
  makeTestApp,
  type RunningGateway,
  startGateway,
  type TestApp,
} from '../support/start-gateway.ts';

// Scenario: a stranger with a valid key tries everything that an endpoint takes as a name of something: the names
// are those of another client app. The endpoints are read from the document that the gateway itself serves.

const config = testConfig(9);
const A_POLL_CHECK = { ...A_LOCAL_CHECK, async: true };
const SECRET_ROLE = 'a-role-of-the-owner';
let connection: RedisConnection;
let results: Results;
let gateway: RunningGateway;
let owner: TestApp;
let stranger: TestApp;

beforeAll(async () => {
  connection = await connectTestRedis(config);
  await connection.redis.set(GENERATION_KEY, 'test');
  results = makeResults(connection.redis);
  [owner, stranger] = [makeTestApp(), makeTestApp()];
  const clientApps = makeClientApps(connection.redis);
  for (const { document } of [owner, stranger]) await clientApps.project(document);
  gateway = await startGateway(config);
});
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]();
  await connection?.[Symbol.asyncDispose]();
});

const requestIdOf = async (response: Response): Promise<string> => {
  expect(response.status).toBe(202);
  return ((await response.json()) as { requestId: string }).requestId;
};

/** A check of the owner, with or without a result. */
async function theirCheck(isDone: boolean): Promise<string> {
  const requestId = await requestIdOf(await gateway.post(owner, A_POLL_CHECK));
  const resultJson = aCheckResult({ requestId, roles: [{ id: SECRET_ROLE, granted: true }] });
  if (isDone) await results.saveIfAbsent({ requestId, resultJson, retainUntil: Date.now() + 60_000 });
  return requestId;
}

/** What a stranger can tell two answers apart by. */
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
/** What a write by the stranger did, by its id and its preconditions: it never sees or changes the owner's rule set. */
async function writeTheirs(method: 'PUT' | 'DELETE', headers: Record<string, string> = {}) {
  const id = `set-${randomUUID()}`;
  const body = method === 'PUT' ? { rules: A_LOCAL_CHECK.rules } : undefined;
  const before = await putTheirs(id);
  const answer = await gateway.send(stranger, method, `${RULE_SETS}/${id}`, body, headers);
  const after = await gateway.get(owner, `${RULE_SETS}/${id}`);
  expect(await after.json()).toEqual(await before.json());
  return answer.status;
}

/** For every place where an operation takes a name: what happens when the name is another client app's. */
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
    // At once: a wait would tell that there is something to wait for.
    const [foreign, invented] = [await read(theirs, { prefer: 'wait=20' }), await read('unknown')];
    expect(await tellTales(foreign)).toEqual(await tellTales(invented));
    const after = await connection.redis.keys(`*${theirs}*`);
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
    // The stranger's own key by now, with another body.
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
};

type Operation = { readonly parameters?: readonly { readonly name: string; readonly in: string }[] };
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };

test('every place where an endpoint takes a name is probed here', async () => {
  const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Document;
  const places = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { parameters = [] }]) =>
      parameters.map((parameter) => `${method.toUpperCase()} ${path} ${parameter.in} ${parameter.name}`),
    ),
  );
  expect(places.sort()).toEqual(Object.keys(PROBES).sort());
});

test.each(Object.keys(PROBES))("%s: another client app's name leads nowhere", async (place) => {
  await PROBES[place]?.();
});
