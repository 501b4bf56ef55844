import { request as httpRequest } from 'node:http';
import { FairTaskQueue } from '#shared/fairness/fair-task-queue.ts';
import { jwksOf, parsePublicRing, publicRingOf } from '#shared/proof-keys.ts';
import { A_CHECK, aResult, NOW_MS } from '../../test/support/fakes/fake-gateway.ts';
import { fakeGateways, problemOf } from '../../test/support/fakes/fake-gateways.ts';

/** The gateway's HTTP surface over fakes: every answer of the contract that needs no real Kafka or
 * Redis. */

const start = fakeGateways();

describe('a poll', () => {
  const path = (id: string) => `/access-control/check-roles/responses/${id}`;
  const DAY_MS = 86_400_000;

  it('answers 202 pending for a check without a result', async () => {
    const gateway = await start();
    const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS - 1, 'bulk', 'app_1');
    const response = await gateway.get(path(id));
    expect(response.status).toBe(202);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toEqual({ requestId: id, status: 'pending', roles: [], errors: [] });
  });

  it('answers 200 with the bytes of the stored result, failed or not', async () => {
    const gateway = await start();
    for (const status of ['completed', 'failed']) {
      const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
      gateway.complete(id, aResult(id, { status }));
      const response = await gateway.get(path(id));
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(aResult(id, { status }));
    }
  });

  it('answers with a large result in its turn among the lists, and with a small one at once', async () => {
    const gateway = await start();
    const turns = jest.spyOn(FairTaskQueue.prototype, 'run');
    const answers = [];
    for (const blob of ['small', 'large'.repeat(10_000)]) {
      const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
      gateway.complete(id, aResult(id, { blob }));
      const response = await gateway.get(path(id));
      expect(await response.text()).toBe(aResult(id, { blob }));
      answers.push([response.status, turns.mock.calls.map(([owner]) => owner)]);
    }
    expect(answers).toEqual([
      [200, []],
      [200, [expect.objectContaining({ clientId: 'app_1' })]],
    ]);
    turns.mockRestore();
  });

  it('answers the same 404 for an id that was never issued and for one of another client', async () => {
    const gateway = await start();
    const others = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_2');
    gateway.complete(others, aResult(others));
    const batch = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'batch', 'app_1');
    const bodies = [];
    for (const id of [
      others,
      batch,
      'x',
      '%ff',
      '%',
      `${others}A`,
      others.toLowerCase(),
      'a'.repeat(5_000),
      '%00',
    ]) {
      const response = await gateway.get(path(id));
      expect(response.status).toBe(404);
      bodies.push({ ...(await problemOf(response)), instance: '' });
    }
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(bodies[0]).toMatchObject({ code: 'request-not-found' });
  });

  it.each([
    ['bulk', 3 * DAY_MS - 1, 202],
    ['bulk', 3 * DAY_MS, 410],
    ['bulk', 6 * DAY_MS, 404],
    ['interactive', 3_600_000, 410],
    ['interactive', 7_200_000, 404],
  ] as const)('in the %s lane after %i ms is %i', async (lane, ageMs, status) => {
    const gateway = await start();
    const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS - ageMs, lane, 'app_1');
    const response = await gateway.get(path(id));
    expect(response.status).toBe(status);
    if (status === 410) expect((await problemOf(response))['code']).toBe('request-expired');
  });

  it('waits, and answers as soon as the result is there', async () => {
    const gateway = await start();
    const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
    const polling = gateway.get(path(id), { prefer: 'respond-async, wait=20' });
    while (gateway.waiters.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    gateway.complete(id, aResult(id));
    const response = await polling;
    expect(response.status).toBe(200);
    expect(response.headers.get('preference-applied')).toBe('wait=20');
  });

  it('answers 202 instead of waiting when the process stops, or when too many wait', async () => {
    const gateway = await start();
    const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
    const polling = gateway.get(path(id), { prefer: 'wait=25' });
    while (gateway.waiters.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    gateway.waiters.endLongPolls();
    expect((await polling).status).toBe(202);
    const full = await start({ waitersMax: 0 });
    expect((await full.get(path(id), { prefer: 'wait=25' })).status).toBe(202);
    const stopping = await start({ isStopping: () => true });
    expect((await stopping.get(path(id), { prefer: 'wait=25' })).status).toBe(202);
  });

  it.each(['wait', 'wait=', 'wait=-1', 'wait=x', 'wait=1e3', ';;,,=', 'wait=0'])(
    'ignores the preference %j',
    async (prefer) => {
      const gateway = await start();
      const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
      expect((await gateway.get(path(id), { prefer })).status).toBe(202);
    },
  );
});

describe('the routes', () => {
  it('list the chains, without anything of their endpoints', async () => {
    const since = new Date(NOW_MS).toISOString();
    const gateway = await start({ readChainStates: async () => new Map([[1, { state: 'down', since }]]) });
    const response = await gateway.get('/access-control/chains');
    expect(await response.json()).toEqual({
      chains: [{ chainId: 1, name: 'Ethereum', nativeSymbol: 'ETH', state: 'down', since }],
    });
  });

  it.each([
    ['nobody has asked', async () => new Map()],
    ['the states cannot be read', () => Promise.reject(new Error('Redis is away'))],
  ])('list the chains, with an unknown state, when %s', async (_, readChainStates) => {
    const gateway = await start({ readChainStates });
    const response = await gateway.get('/access-control/chains');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      chains: [{ chainId: 1, name: 'Ethereum', nativeSymbol: 'ETH', state: 'unknown' }],
    });
  });

  it('name at / the service and its documentation, for people and for machines', async () => {
    const gateway = await start();
    const response = await gateway.get('/', { 'x-api-key': '' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('link')).toBe(
      '<docs>; rel="service-doc", <openapi.json>; rel="service-desc"',
    );
    const text = await response.text();
    for (const path of ['docs', 'openapi.json']) {
      expect(text).toContain(`<a href="${path}">`);
      expect((await gateway.get(`/${path}`, { 'x-api-key': '' })).status).toBe(200);
    }
  });

  it('publish every key of signed verdicts to verifiers of any origin, without an API key and cacheable', async () => {
    const seeds = [1, 2].map((number) => `${number}:${Buffer.alloc(32, number).toString('base64')}`);
    const ring = parsePublicRing(publicRingOf(seeds.join(',')));
    const gateway = await start({ proofKeys: ring });
    const response = await gateway.get('/.well-known/jwks.json', { 'x-api-key': '' });
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const document = await response.json();
    expect(document).toEqual(jwksOf(ring));
    expect(document).toHaveProperty('keys.length', 4);
    const without = await start();
    expect(await (await without.get('/.well-known/jwks.json')).json()).toEqual({ keys: [] });
  });

  it.each([
    '/access-control',
    '/access-control/check-roles/',
    '/Access-Control/check-roles',
    '/access-control/check-roles/responses',
    '/access-control/check-roles/responses/',
    '/access-control/check-roles/responses/a/b',
    '/access-control//check-roles',
    '/%ff',
  ])('do not know %s', async (path) => {
    const gateway = await start();
    const response = await gateway.get(path, { 'x-api-key': '' });
    expect(response.status).toBe(404);
    expect((await problemOf(response))['code']).toBe('route-not-found');
  });

  it.each([
    ['/access-control/check-roles', 'POST', ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE']],
    ['/access-control/check-roles/responses/x', 'GET', ['POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']],
    ['/access-control/chains', 'GET', ['POST', 'HEAD', 'OPTIONS']],
  ])('of %s allow %s alone, key or not', async (path, allow, methods) => {
    const gateway = await start();
    for (const method of methods) {
      const { status, headers } = await new Promise<{ status: number; headers: Record<string, unknown> }>(
        (resolve, reject) => {
          const request = httpRequest(gateway.url + path, { method }, (response) => {
            response.resume();
            resolve({ status: response.statusCode ?? 0, headers: response.headers });
          });
          request.on('error', reject).end();
        },
      );
      expect([method, status]).toEqual([method, 405]);
      expect(headers['allow']).toBe(allow);
    }
  });

  it('answer an unexpected error with 500, without its message', async () => {
    const gateway = await start({ publish: () => Promise.reject(new Error('secret words at /srv/x.ts:1')) });
    const response = await gateway.post({ ...A_CHECK, async: true });
    expect(response.status).toBe(500);
    const problem = await problemOf(response);
    expect(problem['code']).toBe('internal');
    expect(JSON.stringify(problem)).not.toContain('secret');
  });
});
