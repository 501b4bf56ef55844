import { request as httpRequest } from 'node:http';
import { ServiceError } from '#shared/errors.ts';
import {
  A_CHECK,
  API_KEY,
  aClientApp,
  anAdmission,
  aResult,
  type FakeGateway,
  type FakeOptions,
  NOW_MS,
  startFakeGateway,
} from '../../test/support/fake-gateway.ts';

/** The gateway's HTTP surface over fakes: every answer of the contract that needs no real Kafka or Redis. */

let gateways: FakeGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
  gateways = [];
});

async function start(options: FakeOptions = {}): Promise<FakeGateway> {
  const gateway = await startFakeGateway(options);
  gateways.push(gateway);
  return gateway;
}

async function problemOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('rolecall-version')).toBe('1');
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem).toMatchObject({
    status: response.status,
    title: expect.any(String),
    detail: expect.any(String),
  });
  expect(problem['instance']).toMatch(/^\/requests\/[A-Za-z0-9_-]+$/);
  return problem;
}

describe('a check', () => {
  it('in poll mode is acknowledged after the broker has it, with the address to poll', async () => {
    const gateway = await start();
    const response = await gateway.post({ ...A_CHECK, async: true });
    expect(response.status).toBe(202);
    const { requestId } = (await response.json()) as { requestId: string };
    expect(requestId).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(response.headers.get('location')).toBe(`/access-control/check-roles/responses/${requestId}`);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(gateway.published).toEqual([
      expect.objectContaining({
        requestId,
        clientId: 'app_1',
        delivery: { mode: 'poll' },
        rules: [{ ...A_CHECK.rules[0], minToken: '1' }],
        onUndetermined: 'omit',
        consistency: { blockTag: 'latest', minBlock: {} },
        acceptedAt: new Date(NOW_MS).toISOString(),
        retainUntil: new Date(NOW_MS + 72 * 3_600_000).toISOString(),
        chargedMonth: '2026-11',
      }),
    ]);
  });

  it('with a callback URL is in webhook mode, whatever async says', async () => {
    const gateway = await start();
    for (const async of [true, false, undefined]) {
      const response = await gateway.post({ ...A_CHECK, callbackUrl: 'https://hooks.example.com/x', async });
      expect(response.status).toBe(202);
    }
    const deliveries = gateway.published.map(({ delivery }) => delivery);
    expect(deliveries).toEqual(
      Array(3).fill({ mode: 'webhook', callbackUrl: 'https://hooks.example.com/x' }),
    );
  });

  it('in sync mode is answered with the stored bytes', async () => {
    const gateway = await start({
      publish: async ({ requestId }) => gateway.complete(requestId, aResult(requestId)),
    });
    const response = await gateway.post(A_CHECK);
    expect(response.status).toBe(200);
    const { requestId, delivery, deadlineAt } = gateway.published[0] ?? {};
    expect(await response.text()).toBe(aResult(requestId ?? ''));
    expect(delivery).toEqual({ mode: 'sync', replyChannel: 'reply:test' });
    expect(Date.parse(deadlineAt ?? '')).toBeLessThanOrEqual(NOW_MS + 1_000);
    expect(Date.parse(deadlineAt ?? '')).toBeGreaterThan(NOW_MS);
  });

  it('in sync mode past the deadline is 504 with an id that stays pollable', async () => {
    const gateway = await start({ syncDeadlineMs: 30 });
    const response = await gateway.post(A_CHECK);
    expect(response.status).toBe(504);
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ code: 'deadline-exceeded', requestId: gateway.published[0]?.requestId });
    expect(problem['instance']).toBe(`/requests/${problem['requestId']}`);
    expect((await gateway.get(`/access-control/check-roles/responses/${problem['requestId']}`)).status).toBe(
      202,
    );
  });

  it('in sync mode with a lost notice is answered by the last look before the deadline', async () => {
    const gateway = await start({
      syncDeadlineMs: 50,
      publish: async ({ requestId }) => gateway.storeSilently(requestId, aResult(requestId)),
    });
    expect((await gateway.post(A_CHECK)).status).toBe(200);
  });

  it('in sync mode of which nothing was decided is 503 with the errors', async () => {
    const errors = [{ ruleIndex: 0, roleId: 'holder', code: 'rpc-unavailable' }];
    const gateway = await start({
      publish: async ({ requestId }) =>
        gateway.complete(requestId, aResult(requestId, { status: 'failed', roles: [], errors })),
    });
    const response = await gateway.post(A_CHECK);
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await problemOf(response)).toMatchObject({
      code: 'evaluation-unavailable',
      errors,
      requestId: gateway.published[0]?.requestId,
    });
  });

  it('a role named "status":"failed" does not make a result a failed one', async () => {
    const roles = [{ id: '"status":"failed"', granted: true }];
    const gateway = await start({
      publish: async ({ requestId }) => gateway.complete(requestId, aResult(requestId, { roles })),
    });
    expect((await gateway.post(A_CHECK)).status).toBe(200);
  });

  it.each([
    ['broker-unavailable', 1],
    ['overloaded', 1],
    ['publish-unknown', 0],
  ] as const)('that fails with %s is 503, its charge given back %i times', async (code, releaseCount) => {
    const gateway = await start({ publish: () => Promise.reject(new ServiceError(code, 'away')) });
    for (const body of [A_CHECK, { ...A_CHECK, async: true }]) {
      const response = await gateway.post(body);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
      const expected = code === 'overloaded' ? 'overloaded' : 'dependency-unavailable';
      expect((await problemOf(response))['code']).toBe(expected);
    }
    expect(gateway.released).toHaveLength(2 * releaseCount);
    expect(gateway.waiters.count()).toBe(0);
  });

  it('is never accepted while the limiter is away', async () => {
    const gateway = await start({
      admit: () => Promise.reject(new ServiceError('store-unavailable', 'away')),
    });
    for (const body of [A_CHECK, { ...A_CHECK, async: true }, 'not json']) {
      const response = await gateway.post(body);
      expect(response.status).toBe(503);
      expect(response.headers.get('ratelimit')).toBeNull();
      expect((await problemOf(response))['code']).toBe('dependency-unavailable');
    }
    expect(gateway.published).toHaveLength(0);
  });

  it('is refused before any work when too many are in flight', async () => {
    const gateway = await start({ inFlightMax: 1, syncDeadlineMs: 400 });
    const first = gateway.post(A_CHECK);
    while (gateway.published.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const second = await gateway.post(A_CHECK);
    expect(second.status).toBe(503);
    expect((await problemOf(second))['code']).toBe('overloaded');
    expect((await first).status).toBe(504);
  });

  it('is refused when its own lane is too far behind, and not when the other one is', async () => {
    const gateway = await start({ isOverloaded: (lane) => lane === 'bulk', syncDeadlineMs: 20 });
    const bulk = await gateway.post({ ...A_CHECK, async: true });
    expect(bulk.status).toBe(503);
    expect((await problemOf(bulk))['code']).toBe('overloaded');
    expect(gateway.admitted.map(({ check }) => check)).toEqual([undefined]);
    expect((await gateway.post(A_CHECK)).status).toBe(504);
  });

  it('is not waited for any more when its client has gone', async () => {
    const gateway = await start({ syncDeadlineMs: 60_000 });
    const abort = new AbortController();
    const gone = fetch(`${gateway.url}/access-control/check-roles`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(A_CHECK),
      signal: abort.signal,
    }).catch(() => 'gone');
    while (gateway.waiters.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    abort.abort();
    expect(await gone).toBe('gone');
    while (gateway.waiters.count() > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('the key', () => {
  it('missing is 401 api-key-missing, and a body is not looked at', async () => {
    const gateway = await start();
    const response = await gateway.post('not json', { 'x-api-key': '' });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('ApiKey realm="rolecall"');
    expect(response.headers.get('ratelimit')).toBeNull();
    expect((await problemOf(response))['code']).toBe('api-key-missing');
  });

  it('malformed is refused without I/O, by the same answer as an unknown one', async () => {
    let lookups = 0;
    const gateway = await start({
      findByKeyHash: async () => {
        lookups += 1;
        return undefined;
      },
    });
    const malformed = await gateway.post(A_CHECK, { 'x-api-key': 'rck_live_nonsense' });
    expect(lookups).toBe(0);
    const unknown = await gateway.post(A_CHECK);
    expect(lookups).toBe(1);
    const [a, b] = [await problemOf(malformed), await problemOf(unknown)];
    expect({ ...a, instance: '' }).toEqual({ ...b, instance: '' });
    expect(a['code']).toBe('api-key-invalid');
    expect(malformed.headers.get('www-authenticate')).toBe('ApiKey realm="rolecall"');
  });

  it.each([
    ['revoked', { revokedAt: new Date(NOW_MS - 1).toISOString() }],
    ['expired', { expiresAt: new Date(NOW_MS).toISOString() }],
  ])('that is %s is 401', async (_, change) => {
    const app = aClientApp();
    const gateway = await start({ app: { ...app, keys: app.keys.map((key) => ({ ...key, ...change })) } });
    expect((await gateway.post(A_CHECK)).status).toBe(401);
  });

  it('fails at most 20 times a second from one address, and a valid one still passes', async () => {
    const gateway = await start();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => gateway.post(A_CHECK, { 'x-api-key': 'wrong' })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(202);
  });

  it('that is revoked is refused as soon as the change is announced', async () => {
    let app = aClientApp();
    const gateway = await start({ findByKeyHash: async () => app });
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(202);
    app = aClientApp({
      keys: app.keys.map((key) => ({ ...key, revokedAt: new Date(NOW_MS).toISOString() })),
    });
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(202);
    gateway.authenticator.forget('app_1');
    expect((await gateway.post({ ...A_CHECK, async: true })).status).toBe(401);
  });

  it.each([
    [{ scope: 'requested' }, 'scope-not-approved'],
    [{ suspended: true }, 'client-app-suspended'],
  ] as const)('of an app with %j is 403 %s, which costs rate, on every path', async (change, code) => {
    const gateway = await start({ app: aClientApp(change) });
    const answers = [
      await gateway.post('not json'),
      await gateway.get('/access-control/check-roles/responses/x'),
      await gateway.get('/access-control/chains'),
    ];
    for (const response of answers) {
      expect(response.status).toBe(403);
      expect(response.headers.get('rolecall-accepted-at')).toBe(String(NOW_MS));
      expect((await problemOf(response))['code']).toBe(code);
    }
    expect(gateway.admitted.map(({ bucket, check }) => [bucket, check])).toEqual([
      ['per-second', undefined],
      ['per-second-poll', undefined],
      ['per-second-poll', undefined],
    ]);
  });
});

describe('the limits', () => {
  it('are told on every authenticated answer', async () => {
    const gateway = await start();
    const post = await gateway.post({ ...A_CHECK, async: true });
    expect(post.headers.get('ratelimit-policy')).toBe('"per-second";q=10;w=1, "per-month";q=10000;w=2592000');
    expect(post.headers.get('ratelimit')).toBe('"per-second";r=9;t=1, "per-month";r=9999;t=864000');
    expect(post.headers.get('x-ratelimit-limit')).toBe('10');
    expect(post.headers.get('x-ratelimit-remaining')).toBe('9');
    expect(post.headers.get('x-ratelimit-reset')).toBe(new Date(NOW_MS + 1_000).toISOString());
    const get = await gateway.get('/access-control/chains');
    expect(get.headers.get('ratelimit-policy')).toBe('"per-second-poll";q=10;w=1');
    expect(get.headers.get('ratelimit')).toBe('"per-second-poll";r=9;t=1');
  });

  it.each([
    ['rate-limited', 'rate-limited', 'per-second', '1'],
    ['quota-exceeded', 'monthly-quota-exceeded', 'per-month', '864000'],
  ] as const)(
    '%s is 429 and outranks what is wrong with the body',
    async (outcome, code, policy, retryAfter) => {
      const gateway = await start({ admit: async (request) => anAdmission(request, { outcome }) });
      for (const body of [{ ...A_CHECK, async: true }, 'not json', { account: 1 }, 'x'.repeat(300_000)]) {
        const response = await gateway.post(body);
        expect(response.status).toBe(429);
        expect(response.headers.get('retry-after')).toBe(retryAfter);
        expect(response.headers.get('rolecall-accepted-at')).toBeNull();
        expect(await problemOf(response)).toMatchObject({
          type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
          code,
          'violated-policies': [policy],
        });
      }
      expect(gateway.published).toHaveLength(0);
    },
  );
});

describe('the body', () => {
  it.each([
    ['', 400, 'malformed-json'],
    ['{', 400, 'malformed-json'],
    [new Uint8Array([0x22, 0xff, 0x22]), 400, 'malformed-json'],
    ['[]', 422, 'validation-failed'],
    ['null', 422, 'validation-failed'],
    ['7', 422, 'validation-failed'],
    [' '.repeat(256 * 1024 + 1), 413, 'body-too-large'],
    ['['.repeat(130_000) + ']'.repeat(130_000), 422, 'validation-failed'],
    [`{"rules":${'['.repeat(120_000)}${']'.repeat(120_000)}}`, 422, 'validation-failed'],
    ['['.repeat(200_000), 400, 'malformed-json'],
    [`{"account":${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}}`, 422, 'validation-failed'],
  ])('%# is refused as it should be, and costs rate but no quota', async (body, status, code) => {
    const gateway = await start();
    const response = await gateway.post(body);
    expect(response.status).toBe(status);
    expect(response.headers.get('rolecall-accepted-at')).toBe(String(NOW_MS));
    const problem = await problemOf(response);
    expect(problem['code']).toBe(code);
    if (status === 422) expect(problem['errors']).toEqual(expect.any(Array));
    expect(gateway.admitted.map(({ check }) => check)).toEqual([undefined]);
    expect(gateway.published).toHaveLength(0);
  });

  it.each([
    ['text/plain', 415],
    ['application/json; charset=utf-16', 415],
    ['application/jsonp', 415],
    ['application/json; charset=utf-8', 202],
    ['Application/JSON;charset="UTF-8"', 202],
    ['application/vnd.example+json', 202],
  ])('of media type %s is answered with %i', async (type, status) => {
    const gateway = await start();
    const response = await gateway.post({ ...A_CHECK, async: true }, { 'content-type': type });
    expect(response.status).toBe(status);
    if (status === 415) expect((await problemOf(response))['code']).toBe('media-type-unsupported');
  });

  it('with a content-encoding is 415', async () => {
    const gateway = await start();
    expect((await gateway.post(A_CHECK, { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await gateway.post({ ...A_CHECK, async: true }, { 'content-encoding': 'identity' })).status).toBe(
      202,
    );
  });

  it('of duplicate members takes the last, and __proto__ is an unknown one', async () => {
    const gateway = await start();
    const rules = JSON.stringify(A_CHECK.rules);
    const twice = `{"account":"x","account":"${A_CHECK.account}","rules":${rules},"async":true}`;
    expect((await gateway.post(twice)).status).toBe(202);
    const problem = await problemOf(await gateway.post(`{"__proto__":{"async":true},${twice.slice(1)}`));
    expect(problem['errors']).toEqual([
      expect.objectContaining({ pointer: '/__proto__', code: 'unknown-member' }),
    ]);
  });
});

describe('a poll', () => {
  const path = (id: string) => `/access-control/check-roles/responses/${id}`;
  const DAY_MS = 86_400_000;

  it('of an issued check without a result is 202 pending', async () => {
    const gateway = await start();
    const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS - 1, 'bulk', 'app_1');
    const response = await gateway.get(path(id));
    expect(response.status).toBe(202);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toEqual({ requestId: id, status: 'pending', roles: [], errors: [] });
  });

  it('of a stored result is 200 with its very bytes, failed or not', async () => {
    const gateway = await start();
    for (const status of ['completed', 'failed']) {
      const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
      gateway.complete(id, aResult(id, { status }));
      const response = await gateway.get(path(id));
      expect(response.status).toBe(200);
      expect(await response.text()).toBe(aResult(id, { status }));
    }
  });

  it('of what was never issued, or to another client, is one and the same 404', async () => {
    const gateway = await start();
    const others = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_2');
    gateway.complete(others, aResult(others));
    const bodies = [];
    for (const id of [
      others,
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

  it('that waits is answered as soon as the result is there', async () => {
    const gateway = await start();
    const id = gateway.ids.makeId(gateway.ids.makeSeed(), NOW_MS, 'bulk', 'app_1');
    const polling = gateway.get(path(id), { prefer: 'respond-async, wait=20' });
    while (gateway.waiters.count() === 0) await new Promise((resolve) => setImmediate(resolve));
    gateway.complete(id, aResult(id));
    const response = await polling;
    expect(response.status).toBe(200);
    expect(response.headers.get('preference-applied')).toBe('wait=20');
  });

  it('that waits is 202 at once when the process stops, or when too many wait', async () => {
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
    const gateway = await start();
    const response = await gateway.get('/access-control/chains');
    expect(await response.json()).toEqual({
      chains: [{ chainId: 1, name: 'Ethereum', nativeSymbol: 'ETH' }],
    });
  });

  it.each([
    '/',
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

  it('answer a bug with 500 and none of its words', async () => {
    const gateway = await start({ publish: () => Promise.reject(new Error('secret words at /srv/x.ts:1')) });
    const response = await gateway.post({ ...A_CHECK, async: true });
    expect(response.status).toBe(500);
    const problem = await problemOf(response);
    expect(problem['code']).toBe('internal');
    expect(JSON.stringify(problem)).not.toContain('secret');
  });
});
