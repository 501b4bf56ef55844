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
